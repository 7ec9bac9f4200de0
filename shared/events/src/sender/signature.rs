//! Says how a sender signs its requests.

use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::certificate::CertificateRule;
use super::content;
use super::source::{self, is_header_name};
use super::verify::public_key;

/// Longest time by which a signed time may differ from that of its arrival, in seconds: three days, for which
/// senders repeat.
const MAX_TOLERANCE_SECONDS: u32 = 3 * 24 * 3_600;

/// Kind of a sender's signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// HMAC with the signing secret.
    #[default]
    Hmac,
    /// Ed25519 with the sender's `public_key`.
    Ed25519,
    /// ECDSA over P-256 with SHA-256 and the sender's `public_key`.
    Ecdsa,
    /// RSA, PKCS #1 v1.5, with the sender's `public_key` or `certificate`.
    Rsa,
}

/// Hash function of a sender's signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// SHA-256.
    #[default]
    Sha256,
    /// SHA-1.
    Sha1,
    /// SHA-512.
    Sha512,
}

/// Notation of a sender's signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Hexadecimal, in upper or lower case.
    #[default]
    Hex,
    /// Base64 with padding.
    Base64,
}

/// How the text of a secret stands for its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretEncoding {
    /// The text itself.
    #[default]
    Text,
    /// Hexadecimal.
    Hex,
    /// Base64.
    Base64,
    /// Base64 after `whsec_`, as in the Standard Webhooks specification.
    Whsec,
}

/// Where a channel's signing secret comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// The service makes it, unless `signing_secret` is given.
    #[default]
    Channel,
    /// The sender makes it and shows it when the URL is registered there; then it is given as
    /// `signing_secret`.
    Sender,
    /// A handshake brings it.
    Handshake,
}

/// Unit of a signed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Seconds since the Unix epoch.
    Seconds,
    /// Milliseconds since the Unix epoch.
    Milliseconds,
    /// ISO 8601.
    Iso8601,
}

/// Where the signed time of a request is: exactly one of `header`, `prefix` and `path`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SignedTime {
    /// Name of a header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Text before it in the header of the signature, such as `t=`; needs a `separator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Path to it in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Unit. Default: seconds, milliseconds or ISO 8601, whichever it looks like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<TimeUnit>,
}

/// How a sender signs its requests: what is signed, by which scheme, and where the signature is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignatureRule {
    /// Name of the request header that carries the signature, 1 to 100 letters, digits, `-` or `_`; or
    /// `body:<path>` where the body carries it.
    pub header: String,
    /// Hash function. Default: `sha256`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub algorithm: Algorithm,
    /// Notation of the signature. Default: `hex`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub encoding: Encoding,
    /// Text before the signature in the header, such as `sha256=`; at most 100 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Kind of the signature. Default: `hmac`.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "platform::http::strict::name"
    )]
    pub scheme: Scheme,
    /// Another hash function that signatures may have too, while a sender changes it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "platform::http::strict::optional_name"
    )]
    pub other_algorithm: Option<Algorithm>,
    /// Text between several signatures in the header, such as `,` or a blank; any of them may fit. Those
    /// without the `prefix` are not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// What is signed: a template over `body`, `timestamp`, `id`, `url`, `method`, `form_sorted` (the names
    /// and values of a form, sorted), `crc32` (of the body), `secret`, `header:<name>`, `query:<name>`,
    /// `body:<path>` and `lines:<field>,…`, such as `{{ timestamp }}.{{ body }}`. Default: `{{ body }}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Where the signed time is. A request whose time is further from its arrival than `tolerance_seconds`
    /// is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<SignedTime>,
    /// Seconds by which the signed time may differ from the arrival, 1 to 259,200. Default: 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 259_200))]
    pub tolerance_seconds: Option<u32>,
    /// Where the signed `id` is, such as `header:webhook-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where the SHA-256 of the body is, hexadecimal, if `content` has the `url` instead of the body: such as
    /// `query:bodySHA256`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How the text of the signing secret stands for its bytes. Default: `text`.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "platform::http::strict::name"
    )]
    pub secret_encoding: SecretEncoding,
    /// Whether the request needs the channel's token too, because anyone can have the sender sign. Default:
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub token_too: bool,
    /// Where the signing secret comes from. Default: `channel`.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        deserialize_with = "platform::http::strict::name"
    )]
    pub secret_from: SecretSource,
    /// Public key of the sender: hexadecimal, base64 or PEM. For the schemes ed25519, ecdsa and rsa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// Where the certificate of the sender is, which has its public key. For the scheme rsa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateRule>,
    /// The channel's URL as the sender has it, where `content` has the `url` and the sender's differs from
    /// that of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl SignatureRule {
    /// Fails with 400 for an invalid rule.
    pub fn check(&self) -> Result<()> {
        match self.header.strip_prefix("body:") {
            Some(_) => source::check("signature.header", &self.header)?,
            None if !is_header_name(&self.header) => {
                return Err(Error::invalid_field(
                    "signature.header",
                    "is not the name of a header, such as x-hub-signature-256.",
                ));
            }
            None => {}
        }
        for (field, text) in [("prefix", &self.prefix), ("separator", &self.separator)] {
            if text.as_ref().is_some_and(|text| text.len() > 100) {
                return Err(Error::invalid_field(
                    &format!("signature.{field}"),
                    "has at most 100 bytes.",
                ));
            }
        }
        if self.separator.as_deref() == Some("") {
            return Err(Error::invalid_field("signature.separator", "is empty."));
        }
        if let Some(template) = &self.content {
            content::check("signature.content", template)?;
        }
        for (field, source) in [("id", &self.id), ("digest", &self.digest)] {
            if let Some(source) = source {
                source::check(&format!("signature.{field}"), source)?;
            }
        }
        self.check_time()?;
        self.check_key()
    }

    fn check_time(&self) -> Result<()> {
        let is_allowed = |seconds: u32| (1..=MAX_TOLERANCE_SECONDS).contains(&seconds);
        if !self.tolerance_seconds.is_none_or(is_allowed) {
            return Err(Error::invalid_field(
                "signature.tolerance_seconds",
                format!("must be from 1 to {MAX_TOLERANCE_SECONDS}."),
            ));
        }
        let Some(time) = &self.timestamp else {
            return match self.content_names("timestamp") || self.tolerance_seconds.is_some() {
                true => Err(Error::invalid_field(
                    "signature.timestamp",
                    "is missing: say where the signed time is, as in {\"header\": \"x-timestamp\"}.",
                )),
                false => Ok(()),
            };
        };
        let places = [&time.header, &time.prefix, &time.path];
        if places.iter().filter(|place| place.is_some()).count() != 1 {
            return Err(Error::invalid_field(
                "signature.timestamp",
                "has exactly one of header, prefix and path.",
            ));
        }
        if time.prefix.is_some() && self.separator.is_none() {
            return Err(Error::invalid_field(
                "signature.separator",
                "is missing: the time is in the header of the signature, so say what is between the two.",
            ));
        }
        if time.header.as_ref().is_some_and(|name| !is_header_name(name)) {
            return Err(Error::invalid_field(
                "signature.timestamp.header",
                "is not the name of a header, such as x-timestamp.",
            ));
        }
        time.path.as_ref().map_or(Ok(()), |path| {
            crate::path::check("signature.timestamp.path", path)
        })
    }

    fn check_key(&self) -> Result<()> {
        match (self.scheme, &self.public_key, &self.certificate) {
            (Scheme::Rsa, None, Some(certificate)) => certificate.check(),
            (Scheme::Hmac, None, None) => Ok(()),
            (Scheme::Hmac, ..) => Err(Error::invalid_field(
                "signature.public_key",
                "is for the schemes ed25519, ecdsa and rsa.",
            )),
            (scheme, Some(key), None) => match public_key(scheme, key) {
                Some(_) => Ok(()),
                None => Err(Error::invalid_field(
                    "signature.public_key",
                    "is no public key of this scheme in hexadecimal, base64 or PEM.",
                )),
            },
            (Scheme::Rsa, ..) => Err(Error::invalid_field(
                "signature.public_key",
                "or 'signature.certificate' is needed, and not both.",
            )),
            (_, None, _) => Err(Error::invalid_field(
                "signature.public_key",
                "is missing: give the public key that the sender shows.",
            )),
            (_, _, Some(_)) => Err(Error::invalid_field(
                "signature.certificate",
                "is for the scheme rsa.",
            )),
        }
    }

    /// Fails with 400 for a secret that is not in the encoding of the rule.
    pub fn check_secret(&self, secret: &str) -> Result<()> {
        let why = match (self.scheme, self.secret_encoding) {
            (Scheme::Hmac, SecretEncoding::Hex) => {
                "must be hexadecimal, as 'signature.secret_encoding' says."
            }
            (Scheme::Hmac, SecretEncoding::Base64) => "must be base64, as 'signature.secret_encoding' says.",
            (Scheme::Hmac, SecretEncoding::Whsec) => {
                "must be base64 after 'whsec_', as 'signature.secret_encoding' says."
            }
            _ => return Ok(()),
        };
        match self.secret_bytes(secret) {
            Some(_) => Ok(()),
            None => Err(Error::invalid_field("signing_secret", why)),
        }
    }

    /// Whether a secret verifies signatures, or is part of what is signed.
    pub fn needs_secret(&self) -> bool {
        self.scheme == Scheme::Hmac || self.content_names("secret")
    }

    /// Whether what is signed covers the whole body.
    pub fn covers_body(&self) -> bool {
        let covers = |name| self.content_names(name);
        self.content.is_none() || covers("body") || covers("crc32") || self.digest.is_some()
    }

    pub(super) fn content_names(&self, name: &str) -> bool {
        match &self.content {
            None => name == "body",
            Some(template) => content::names(template, name),
        }
    }

    /// Says what a request must have, for the owner of the channel.
    pub(super) fn describe(&self) -> String {
        let place = match self.header.strip_prefix("body:") {
            Some(path) => format!("the field '{path}' of the body"),
            None => format!("the header '{}'", self.header),
        };
        let algorithm = match self.algorithm {
            Algorithm::Sha256 => "SHA-256",
            Algorithm::Sha1 => "SHA-1",
            Algorithm::Sha512 => "SHA-512",
        };
        let scheme = match self.scheme {
            Scheme::Hmac => format!("HMAC with {algorithm}"),
            Scheme::Ed25519 => "Ed25519".to_owned(),
            Scheme::Ecdsa => "ECDSA over P-256".to_owned(),
            Scheme::Rsa => format!("RSA with {algorithm}"),
        };
        let encoding = match self.encoding {
            Encoding::Hex => "hexadecimal",
            Encoding::Base64 => "base64",
        };
        let prefix = self.prefix.as_ref().map(|prefix| format!(" after '{prefix}'"));
        let time = self
            .timestamp
            .as_ref()
            .map(|time| match (&time.header, &time.prefix, &time.path) {
                (Some(name), ..) => format!(", and the signed time in the header '{name}'"),
                (_, Some(prefix), _) => format!(", and the signed time after '{prefix}'"),
                (.., path) => format!(
                    ", and the signed time at '{}' of the body",
                    path.as_deref().unwrap_or_default()
                ),
            });
        format!(
            "expected in {place}{}: {scheme}, {encoding}, over {}{}",
            prefix.unwrap_or_default(),
            self.content.as_deref().unwrap_or("{{ body }}"),
            time.unwrap_or_default()
        )
    }
}
