//! Restricts the host names under which a server of this machine answers.
//!
//! A web page can point a DNS name of its own at this machine (DNS rebinding). The browser then treats the
//! server as the page's own, and only the request's `Host` reveals the page.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Uri;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use platform::config::{Environment, variables};
use platform::{Error, Result};

/// Allowed names besides those of the loopback interface.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Arc<[String]>);

impl Hosts {
    /// Reads `MILLRACE_HOSTS`, names without ports, comma-joined, and the host of `MILLRACE_PUBLIC_URL`.
    pub fn from_environment(environment: &Environment) -> Self {
        let names = environment.optional(variables::HOSTS).unwrap_or_default();
        let names = names.split(',').map(|name| name.trim().to_ascii_lowercase());
        let url = environment.optional(variables::PUBLIC_URL);
        let url = url.and_then(|url| url.parse::<Uri>().ok());
        // This machine is known anyway, and is more than this service.
        let authority = url.as_ref().and_then(Uri::authority);
        let authority = authority.filter(|authority| !Self::default().knows(authority));
        let public = authority.map(|authority| authority.host().to_ascii_lowercase());
        Self(names.filter(|name| !name.is_empty()).chain(public).collect())
    }

    /// Returns the names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// True if every name in a request is known. The port is ignored, because it may be forwarded.
    pub fn know(&self, request: &Request) -> bool {
        let mut headers = request.headers().get_all(HOST).iter();
        let (Some(host), None) = (headers.next(), headers.next()) else {
            return false;
        };
        let host = Authority::try_from(host.as_bytes());
        // A request line with a whole URL names a host as well.
        let mut authorities = host.iter().chain(request.uri().authority());
        host.is_ok() && authorities.all(|authority| self.knows(authority))
    }

    fn knows(&self, authority: &Authority) -> bool {
        let text = authority.as_str().to_ascii_lowercase();
        // The brackets of an IPv6 address contain colons.
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port),
            _ => (text.as_str(), ""),
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        if self.0.iter().any(|host| host == name) {
            return true;
        }
        if let Some(literal) = name.strip_prefix('[') {
            let address = literal.strip_suffix(']').map(str::parse::<Ipv6Addr>);
            return address.is_some_and(|address| address.is_ok_and(|address| address.is_loopback()));
        }
        let is_name = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !name.starts_with('.') && name.bytes().all(fits)
        };
        let address = name.parse::<Ipv4Addr>();
        address.is_ok_and(|address| address.is_loopback())
            || name == "localhost"
            || (name.ends_with(".localhost") && is_name(name))
    }
}

/// Refuses requests under unknown names with 403.
pub async fn only_known_hosts(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    match check(&hosts, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check(hosts: &Hosts, request: &Request) -> Result<()> {
    if hosts.know(request) {
        return Ok(());
    }
    Err(Error::forbidden(
        "This service does not answer under the host name of the request. Use 127.0.0.1 or localhost, or start it with the \
         name in MILLRACE_PUBLIC_URL or MILLRACE_HOSTS.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn is_known(uri: &str, hosts: &[&str]) -> bool {
        let environment = Environment::from_variables([(
            variables::HOSTS.name.into(),
            "dev.example, box, [fd00::1]".into(),
        )])
        .unwrap();
        let mut request = Request::builder().uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        Hosts::from_environment(&environment).know(&request.body(Body::empty()).unwrap())
    }

    #[test]
    fn loopback_names_and_configured_ones_are_known() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:3000",
            "127.9.9.9:1",
            "localhost",
            "LocalHost:8080",
            "app.localhost",
            "[::1]:3000",
            "dev.example",
            "DEV.example:443",
            "box",
            "[fd00::1]:3000",
        ] {
            assert!(is_known("/", &[host]), "{host}");
        }
        assert!(is_known("http://127.0.0.1:3000/docs", &["127.0.0.1:3000"]));
    }

    #[test]
    fn every_other_name_is_refused() {
        for host in [
            "",
            "evil.example",
            "evil.example:3000",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.localhost.example",
            "xlocalhost",
            "127.0.0.1@evil.example",
            "evil.example@127.0.0.1",
            "0.0.0.0:3000",
            "10.0.0.1",
            "[::ffff:10.0.0.1]",
            "dev.example.evil.example",
            "127.0.0.1 evil.example",
            "2130706433",
            "localhost:evil.example",
            "[::1]evil.example",
            "[127.0.0.1]",
            "[::1%25evil]",
            ".localhost",
            "evil%2eexample.localhost",
            "127.0.0.1:80:80",
        ] {
            assert!(!is_known("/", &[host]), "{host}");
        }
        assert!(!is_known("/", &[]), "no name");
        assert!(!is_known("/", &["127.0.0.1", "127.0.0.1"]), "two names");
        assert!(!is_known("http://evil.example/", &["127.0.0.1"]));
    }
}
