//! Reads how the service listens from arguments and variables, and refuses what does not fit together.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use axum::http::Uri;
use axum::http::uri::Scheme;
use platform::config::variables::{self, Variable};
use platform::config::{ConfigError, Environment};

use crate::arguments::{Arguments, Mode};
use crate::proxies::TrustedProxies;
use crate::tls::{Acme, Certificates, Files};

pub struct Settings {
    pub mode: Mode,
    pub listen: SocketAddr,
    pub tls: Option<Certificates>,
    pub proxies: TrustedProxies,
    pub metrics: Option<SocketAddr>,
    pub data_dir: PathBuf,
    pub replace: bool,
}

impl Settings {
    /// Returns the settings, and the environment with their part of it: the public URL, and what is allowed
    /// in development unless a variable says otherwise.
    pub fn read(
        arguments: &Arguments,
        mode: Mode,
        environment: Environment,
    ) -> Result<(Self, Environment), ConfigError> {
        let tls = certificates(arguments)?;
        let listen = match text(&arguments.listen) {
            None => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), arguments.port),
            Some(listen) => parsed(
                variables::LISTEN,
                listen,
                "an address and a port, such as 0.0.0.0:443 or [::]:3000",
            )?,
        };
        let url = match (text(&arguments.public_url), &tls) {
            (Some(url), _) => Some(public_url(url)?),
            (None, Some(Certificates::Acme(acme))) => {
                acme.domains.first().map(|name| format!("https://{name}"))
            }
            (None, _) => None,
        };
        let mut environment = environment;
        match (mode, &url) {
            (Mode::Production, None) => {
                return Err(ConfigError::new(
                    "A service for users has a URL: set MILLRACE_PUBLIC_URL to the one under which they reach it, such as \
                     https://millrace.example.com.",
                ));
            }
            (Mode::Production, Some(_)) if !identity::names_provider(&environment) => {
                return Err(ConfigError::new(
                    "A service for users takes the tokens of an identity provider: set MILLRACE_IDENTITY as docs/identity.md says, or \
                     start it with --dev, which lets it issue tokens itself.",
                ));
            }
            (Mode::Production, Some(_)) => {}
            (Mode::Development, _) => {
                for (variable, value) in [(variables::LOCAL_TARGETS, "true"), (variables::CORS_ORIGINS, "*")]
                {
                    if environment.optional(variable).is_none() {
                        environment = environment.with([(variable, value.to_owned())]);
                    }
                }
            }
        }
        if let Some(url) = url {
            environment = environment.with([(variables::PUBLIC_URL, url)]);
        }
        let metrics = text(&arguments.metrics_listen).map(|address| {
            let expected = "an address and a port, such as 127.0.0.1:9464";
            parsed(variables::METRICS_LISTEN, address, expected)
        });
        let settings = Self {
            mode,
            listen,
            tls,
            proxies: TrustedProxies::parse(text(&arguments.trusted_proxies).unwrap_or_default())?,
            metrics: metrics.transpose()?,
            data_dir: arguments.data_dir.clone(),
            replace: arguments.replace,
        };
        Ok((settings, environment))
    }
}

/// Returns the value of an argument; an empty one counts as missing.
fn text(argument: &Option<String>) -> Option<&str> {
    argument.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

fn parsed<T: FromStr<Err: Display>>(
    variable: Variable,
    text: &str,
    expected: &str,
) -> Result<T, ConfigError> {
    text.parse().map_err(|_| {
        ConfigError::new(format!(
            "The variable {variable} is '{text}'. Set it to {expected}."
        ))
    })
}

/// Returns a URL without a slash at its end.
fn public_url(text: &str) -> Result<String, ConfigError> {
    let refused = |reason: &str| {
        ConfigError::new(format!(
            "The variable MILLRACE_PUBLIC_URL is '{text}'. {reason} Set it to a scheme and a host, such as https://millrace.example.com."
        ))
    };
    let url: Uri = text.parse().map_err(|_| refused("It is no URL."))?;
    let is_web = [Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&url.scheme());
    let Some(authority) = url.authority().filter(|_| is_web) else {
        return Err(refused("It does not begin with https:// or http://."));
    };
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return Err(refused("It has a user name or no host."));
    }
    if url.path() != "/" || url.query().is_some() {
        return Err(refused(
            "The service has a host of its own: a proxy cannot put it below a path.",
        ));
    }
    let scheme = url.scheme_str().unwrap_or_default();
    Ok(format!("{scheme}://{}", authority.as_str().to_ascii_lowercase()))
}

fn certificates(arguments: &Arguments) -> Result<Option<Certificates>, ConfigError> {
    let files = (text(&arguments.tls_certificate), text(&arguments.tls_key));
    let domains = text(&arguments.acme_domains);
    match (files, domains) {
        ((None, None), None) => match text(&arguments.acme_directory) {
            None => Ok(None),
            Some(_) => Err(ConfigError::new(
                "MILLRACE_ACME_DIRECTORY is set without MILLRACE_ACME_DOMAINS. Set both, or neither.",
            )),
        },
        ((Some(certificate), Some(key)), None) => Ok(Some(Certificates::Files(Files {
            certificate: certificate.into(),
            key: key.into(),
        }))),
        ((None, None), Some(domains)) => Ok(Some(Certificates::Acme(Acme {
            domains: host_names(domains)?,
            contact: text(&arguments.acme_contact).map(str::to_owned),
            directory: text(&arguments.acme_directory).map(str::to_owned),
            roots: text(&arguments.acme_roots).map(PathBuf::from),
        }))),
        (_, Some(_)) => Err(ConfigError::new(
            "MILLRACE_ACME_DOMAINS is set, and files of a certificate too. Set MILLRACE_TLS_CERTIFICATE and MILLRACE_TLS_KEY, or \
             the domains.",
        )),
        (_, None) => Err(ConfigError::new(
            "One of MILLRACE_TLS_CERTIFICATE and MILLRACE_TLS_KEY is missing. Set both, or neither.",
        )),
    }
}

/// Returns the names of a list; the authority gives no certificates for addresses by this challenge.
fn host_names(list: &str) -> Result<Vec<String>, ConfigError> {
    let names = list.split(',').map(|name| name.trim().to_ascii_lowercase());
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    let is_name = |name: &String| {
        let labels = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        name.split('.').all(labels) && name.parse::<IpAddr>().is_err()
    };
    match names.iter().find(|name| !is_name(name)) {
        None if !names.is_empty() => Ok(names),
        _ => Err(ConfigError::new(format!(
            "The variable MILLRACE_ACME_DOMAINS is '{list}'. Set it to names of hosts, such as millrace.example.com."
        ))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: Arguments,
    }

    const IDENTITY: (Variable, &str) = (variables::IDENTITY, "{}");
    const URL: [&str; 2] = ["--public-url", "https://millrace.example.com"];

    fn read(
        mode: Mode,
        arguments: &[&str],
        variables: &[(Variable, &str)],
    ) -> Result<(Settings, Environment), String> {
        let arguments = Program::parse_from(["millrace"].iter().chain(arguments)).arguments;
        let environment = Environment::from_variables([]).unwrap();
        let environment =
            environment.with(variables.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Settings::read(&arguments, mode, environment).map_err(|refusal| refusal.to_string())
    }

    fn refusal(arguments: &[&str]) -> String {
        let refused = read(Mode::Production, arguments, &[IDENTITY]);
        refused.err().expect("the settings are refused")
    }

    #[test]
    fn development_needs_no_setting_and_allows_this_machine() {
        let (settings, environment) = read(Mode::Development, &[], &[]).unwrap();
        assert_eq!(settings.listen, "127.0.0.1:3000".parse().unwrap());
        assert_eq!(environment.optional(variables::LOCAL_TARGETS), Some("true"));
        let no = [(variables::LOCAL_TARGETS, "false")];
        let (_, environment) = read(Mode::Development, &["--port", "1"], &no).unwrap();
        assert_eq!(environment.optional(variables::LOCAL_TARGETS), Some("false"));
        let (_, environment) = read(Mode::Production, &URL, &[IDENTITY]).unwrap();
        assert_eq!(environment.optional(variables::LOCAL_TARGETS), None);
        assert_eq!(environment.optional(variables::CORS_ORIGINS), None);
    }

    #[test]
    fn production_needs_an_identity_provider_and_a_url() {
        assert!(refusal(&[]).contains("set MILLRACE_PUBLIC_URL"));
        let refused = read(Mode::Production, &URL, &[]).err().unwrap();
        assert!(refused.contains("set MILLRACE_IDENTITY"), "{refused}");
        let (_, environment) = read(
            Mode::Production,
            &["--acme-domains", "A.example, b.example"],
            &[IDENTITY],
        )
        .unwrap();
        assert_eq!(
            environment.optional(variables::PUBLIC_URL),
            Some("https://a.example")
        );
    }

    #[test]
    fn public_url_is_a_scheme_and_a_host() {
        for (url, expected) in [
            ("https://Millrace.example.com/", "https://millrace.example.com"),
            ("http://10.0.0.5:3000", "http://10.0.0.5:3000"),
            ("https://[fd00::1]", "https://[fd00::1]"),
        ] {
            let (_, environment) = read(Mode::Production, &["--public-url", url], &[IDENTITY]).unwrap();
            assert_eq!(environment.optional(variables::PUBLIC_URL), Some(expected));
        }
        for url in [
            "millrace.example.com",
            "ftp://millrace.example.com",
            "https://",
            "https://a@millrace.example.com",
            "https://millrace.example.com/below",
            "https://millrace.example.com/?a",
            "https://a b",
        ] {
            let refused = refusal(&["--public-url", url]);
            assert!(
                refused.contains(url) && refused.contains("such as https://"),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused_by_name() {
        for (arguments, name) in [
            (&["--listen", "443"][..], variables::LISTEN.name),
            (&["--listen", "example.com:443"], variables::LISTEN.name),
            (&["--metrics-listen", "9464"], variables::METRICS_LISTEN.name),
            (
                &["--trusted-proxies", "10.0.0.0/33"],
                variables::TRUSTED_PROXIES.name,
            ),
            (
                &["--trusted-proxies", "proxy.example"],
                variables::TRUSTED_PROXIES.name,
            ),
            (&["--tls-key", "key.pem"], variables::TLS_CERTIFICATE.name),
            (
                &["--acme-directory", "https://ca.example"],
                variables::ACME_DOMAINS.name,
            ),
            (&["--acme-domains", "*.example.com"], variables::ACME_DOMAINS.name),
            (&["--acme-domains", "10.0.0.1"], variables::ACME_DOMAINS.name),
            (
                &[
                    "--acme-domains",
                    "a.example",
                    "--tls-key",
                    "b",
                    "--tls-certificate",
                    "c",
                ],
                variables::ACME_DOMAINS.name,
            ),
        ] {
            let all: Vec<_> = arguments.iter().chain(&URL).copied().collect();
            let refused = refusal(&all);
            assert!(refused.contains(name), "{arguments:?}: {refused}");
        }
    }

    #[test]
    fn an_empty_value_counts_as_missing() {
        let empty = [
            "--listen",
            "",
            "--trusted-proxies",
            " ",
            "--tls-key",
            "",
            "--metrics-listen",
            "",
        ];
        let (settings, _) = read(Mode::Development, &empty, &[]).unwrap();
        assert_eq!(settings.listen.port(), 3000);
        assert!(settings.tls.is_none() && settings.metrics.is_none());
    }
}
