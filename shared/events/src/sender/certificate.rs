//! Reads the public key of a sender from a certificate that its requests name.
//!
//! The certificate is trusted because of where it comes from: https, and a host of the rule.

use platform::{Error, Result};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::refusal::{Refusal, RefusalReason};
use super::source::{self, Fields};

const MAX_HOSTS: usize = 10;

/// Where the certificate of a sender is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CertificateRule {
    /// Where the request has the URL of the certificate, such as `body:SigningCertURL`.
    pub url: String,
    /// Hosts that the certificate may come from, over https. A `*` stands for one label or a part of it, as
    /// in `sns.*.amazonaws.com`.
    pub hosts: Vec<String>,
}

impl CertificateRule {
    /// Fails with 400 for an invalid rule.
    pub fn check(&self) -> Result<()> {
        source::check("signature.certificate.url", &self.url)?;
        check_hosts("signature.certificate.hosts", &self.hosts)
    }

    /// Returns the URL of the certificate that a request names.
    pub fn address(&self, fields: Fields<'_>) -> std::result::Result<Url, Refusal> {
        let refusal = |detail: String| Refusal::new(RefusalReason::CertificateRefused, detail);
        let text = source::find_text(&self.url, fields)
            .ok_or_else(|| refusal(format!("expected the URL of a certificate in '{}'", self.url)))?;
        // A query may make a host answer with text of the query's author.
        let url = as_allowed_url(&text, &self.hosts).filter(|url| url.query().is_none());
        url.ok_or_else(|| {
            refusal(format!(
                "the certificate is not at an https URL without a query of {}",
                self.hosts.join(", ")
            ))
        })
    }
}

/// Fails with 400 for patterns that could match hosts of others.
pub(super) fn check_hosts(field: &str, hosts: &[String]) -> Result<()> {
    let fits = |host: &String| {
        let labels: Vec<_> = host.split('.').collect();
        let is_label = |label: &&str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-*".contains(&byte))
        };
        // The registered part of the name is fixed.
        let is_fixed = labels.iter().rev().take(2).all(|label| !label.contains('*'));
        host.len() <= 253 && labels.len() >= 2 && labels.iter().all(is_label) && is_fixed
    };
    match (1..=MAX_HOSTS).contains(&hosts.len()) && hosts.iter().all(fits) {
        true => Ok(()),
        false => Err(Error::invalid_field(
            field,
            format!(
                "has 1 to {MAX_HOSTS} hosts such as sns.*.amazonaws.com; the last two labels have no '*'."
            ),
        )),
    }
}

/// Returns a URL if it is https, of one of these hosts, on the port of https and without credentials.
pub(super) fn as_allowed_url(text: &str, hosts: &[String]) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?;
    let is_plain = url.scheme() == "https"
        && url.port().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    (is_plain && hosts.iter().any(|pattern| is_host(pattern, host))).then_some(url)
}

fn is_host(pattern: &str, host: &str) -> bool {
    let (patterns, labels) = (pattern.split('.'), host.split('.'));
    patterns.clone().count() == labels.clone().count()
        && patterns
            .zip(labels)
            .all(|(pattern, label)| match pattern.split_once('*') {
                None => pattern.eq_ignore_ascii_case(label),
                Some((before, after)) => {
                    label.len() > before.len() + after.len()
                        && label.starts_with(before)
                        && label.ends_with(after)
                }
            })
}

/// Returns the public key of a certificate in PEM, as DER of its `SubjectPublicKeyInfo`; None for what is no
/// certificate.
pub fn public_key(pem: &[u8]) -> Option<Vec<u8>> {
    let certificate = CertificateDer::from_pem_slice(pem).ok()?;
    let certificate = webpki::EndEntityCert::try_from(&certificate).ok()?;
    Some(certificate.subject_public_key_info().as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_the_hosts_are_allowed() {
        let hosts = ["sns.*.amazonaws.com".to_owned(), "api.example.com".to_owned()];
        check_hosts("hosts", &hosts).unwrap();
        for (url, is_allowed) in [
            ("https://sns.eu-west-1.amazonaws.com/a.pem", true),
            ("https://api.example.com/a.pem?x=1", true),
            ("https://API.example.com/a.pem", true),
            ("http://sns.eu-west-1.amazonaws.com/a.pem", false),
            ("https://sns.eu-west-1.amazonaws.com:8443/a.pem", false),
            ("https://user@sns.eu-west-1.amazonaws.com/a.pem", false),
            ("https://sns.eu-west-1.amazonaws.com.evil.example/a.pem", false),
            ("https://evil.example/sns.eu-west-1.amazonaws.com", false),
            ("https://sns.a.b.amazonaws.com/a.pem", false),
            ("https://sns..amazonaws.com/a.pem", false),
            ("https://sns.amazonaws.com/a.pem", false),
            ("https://evil.example#@sns.eu-west-1.amazonaws.com/", false),
            ("https://evil.example\\@sns.eu-west-1.amazonaws.com/", false),
            ("file:///etc/passwd", false),
            ("sns.eu-west-1.amazonaws.com", false),
        ] {
            assert_eq!(as_allowed_url(url, &hosts).is_some(), is_allowed, "{url}");
        }
    }

    #[test]
    fn patterns_keep_to_the_names_of_one_owner() {
        for hosts in [
            &["*"][..],
            &["*.com"],
            &["a.*.com"],
            &["a.b.*"],
            &[""],
            &["a..b"],
            &["a/b.c"],
            &[],
            &["localhost"],
        ] {
            let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
            assert!(check_hosts("hosts", &hosts).is_err(), "{hosts:?}");
        }
    }
}
