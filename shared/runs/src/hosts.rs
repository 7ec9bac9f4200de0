//! Compares the host of a URL with a list of hosts, each `host` or `host:port`.

use url::Url;

/// Returns whether a list has the host of a URL. An entry without a port means the default port of the URL's
/// scheme.
pub fn has_host(hosts: &[String], url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_end_matches('.');
    let wanted = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    hosts.iter().any(|host| host.eq_ignore_ascii_case(&wanted))
}
