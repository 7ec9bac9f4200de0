//! Verifies the signatures of requests to a channel.

use std::borrow::Cow;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use subtle::ConstantTimeEq as _;

use super::certificate::CertificateRule;
use super::content::{self, Values};
use super::refusal::{Refusal, RefusalReason};
use super::source::{self, Fields, is_header_name};
use crate::sender_time::as_time;

/// Maximum length of a signature in characters: RSA with 8,192 bits has 1,368 in base64.
const MAX_SIGNATURE_BYTES: usize = 2_048;
/// Most signatures of a header that are compared.
const MAX_SIGNATURES: usize = 8;
/// Time by which the signed time of a request may differ from that of its arrival, in seconds.
pub const DEFAULT_TOLERANCE_SECONDS: u32 = 300;
/// Longest such time, in seconds: three days, for which senders repeat.
const MAX_TOLERANCE_SECONDS: u32 = 3 * 24 * 3_600;
/// Prefix of a secret of the Standard Webhooks specification.
const SECRET_PREFIX: &str = "whsec_";

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

/// What a signature is verified with.
#[derive(Clone, Copy)]
pub enum Key<'a> {
    /// Text of the signing secret.
    Secret(&'a str),
    /// Public key of a certificate, as DER of its `SubjectPublicKeyInfo`, and the text of the signing secret.
    Public(&'a [u8], &'a str),
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
        let given = [&time.header, &time.prefix, &time.path];
        if given.iter().filter(|place| place.is_some()).count() != 1 {
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

    fn content_names(&self, name: &str) -> bool {
        match &self.content {
            None => name == "body",
            Some(template) => content::names(template, name),
        }
    }

    fn secret_bytes<'s>(&self, secret: &'s str) -> Option<Cow<'s, [u8]>> {
        let decoded = match self.secret_encoding {
            SecretEncoding::Text => return Some(Cow::Borrowed(secret.as_bytes())),
            SecretEncoding::Hex => hex::decode(secret).ok(),
            SecretEncoding::Base64 => BASE64.decode(secret).ok(),
            SecretEncoding::Whsec => {
                let text = secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret);
                BASE64.decode(text).ok()
            }
        };
        decoded.filter(|bytes| !bytes.is_empty()).map(Cow::Owned)
    }

    /// Verifies the signature of a request that arrives at `now`. Compares in constant time.
    pub fn verify(&self, key: Key<'_>, fields: Fields<'_>, now: UtcTime) -> std::result::Result<(), Refusal> {
        let missing = || Refusal::new(RefusalReason::SignatureMissing, self.expected());
        let wrong = || Refusal::new(RefusalReason::SignatureWrong, self.expected());
        let text = match self.header.starts_with("body:") {
            true => source::find_text(&self.header, fields),
            false => fields.request.header(&self.header).map(str::to_owned),
        };
        let text = text.filter(|text| !text.is_empty()).ok_or_else(missing)?;
        let time = self.time(&text, fields, now)?;
        let mut fields = fields;
        if let Some(url) = &self.url {
            fields.request.url = url;
        }
        let id = match &self.id {
            None => String::new(),
            Some(source) => source::find_text(source, fields).ok_or_else(missing)?,
        };
        if !self.is_digest_right(fields) {
            return Err(wrong());
        }
        let (Key::Secret(secret) | Key::Public(_, secret)) = key;
        let values = Values {
            timestamp: &time,
            id: &id,
            secret,
        };
        let content = match &self.content {
            None => Cow::Borrowed(fields.request.body),
            Some(template) => content::fill(template, fields, values)
                .map(Cow::Owned)
                .ok_or_else(missing)?,
        };
        let fits = |signature: Vec<u8>| {
            self.fits(self.algorithm, key, &content, &signature)
                || self
                    .other_algorithm
                    .is_some_and(|other| self.fits(other, key, &content, &signature))
        };
        let mut signatures = self.signatures(&text).take(MAX_SIGNATURES).peekable();
        if signatures.peek().is_none() {
            // Compared too, so that it takes as long as a wrong one.
            fits(Vec::new());
        }
        match signatures.map(fits).any(|fits| fits) {
            true => Ok(()),
            false => Err(wrong()),
        }
    }

    /// Returns the decoded signatures of a header; an empty one for each that cannot be decoded.
    fn signatures<'h>(&'h self, text: &'h str) -> impl Iterator<Item = Vec<u8>> + 'h {
        self.parts(text).filter_map(|part| {
            let part = match &self.prefix {
                None => Some(part),
                Some(prefix) => part.strip_prefix(prefix.as_str()).map(str::trim),
            };
            // A longer signature would take measurably longer, which shows whether the header is decoded at
            // all.
            let part = part?;
            let decoded = match self.encoding {
                _ if part.len() > MAX_SIGNATURE_BYTES => None,
                Encoding::Hex => hex::decode(part).ok(),
                Encoding::Base64 => BASE64.decode(part).ok(),
            };
            Some(decoded.unwrap_or_default())
        })
    }

    fn parts<'h>(&'h self, text: &'h str) -> impl Iterator<Item = &'h str> + 'h {
        let separated = self.separator.as_deref();
        let whole = separated.is_none().then_some(text);
        let split = separated.map(|separator| text.split(separator));
        whole
            .into_iter()
            .chain(split.into_iter().flatten())
            .map(str::trim)
    }

    /// Returns the signed time as the sender wrote it; empty where the rule has none.
    fn time(&self, header: &str, fields: Fields<'_>, now: UtcTime) -> std::result::Result<String, Refusal> {
        let Some(place) = &self.timestamp else {
            return Ok(String::new());
        };
        let text = match (&place.header, &place.prefix, &place.path) {
            (Some(name), ..) => fields.request.header(name).map(str::to_owned),
            (_, Some(prefix), _) => self
                .parts(header)
                .find_map(|part| part.strip_prefix(prefix.as_str()))
                .map(|text| text.trim().to_owned()),
            (_, _, Some(path)) => source::find_text(path, fields),
            (None, None, None) => None,
        };
        let time = text.as_deref().and_then(|text| read_time(text, place.unit));
        let tolerance = i64::from(self.tolerance_seconds.unwrap_or(DEFAULT_TOLERANCE_SECONDS));
        match (text, time) {
            (Some(text), Some(time)) if (now.as_seconds() - time.as_seconds()).abs() <= tolerance => Ok(text),
            (_, Some(time)) => Err(Refusal::new(
                RefusalReason::TimestampOutsideTolerance,
                format!(
                    "the signed time {time} is more than {tolerance} seconds from the time of arrival, {now}"
                ),
            )),
            (_, None) => Err(Refusal::new(RefusalReason::TimestampMissing, self.expected())),
        }
    }

    /// Whether the body has the digest that the request names. Without one, the body must be covered by what
    /// is signed.
    fn is_digest_right(&self, fields: Fields<'_>) -> bool {
        let Some(source) = &self.digest else {
            return true;
        };
        match source::find_text(source, fields) {
            Some(digest) => {
                let own = hex::encode(Sha256::digest(fields.request.body));
                own.as_bytes()
                    .ct_eq(digest.to_ascii_lowercase().as_bytes())
                    .into()
            }
            None => {
                let is_form = self.content_names("form_sorted") && fields.request.is_form();
                is_form || fields.request.body.is_empty() || self.content_names("body")
            }
        }
    }

    fn fits(&self, algorithm: Algorithm, key: Key<'_>, content: &[u8], signature: &[u8]) -> bool {
        let public = || match (key, &self.public_key) {
            (Key::Public(key, _), _) => Some(Cow::Borrowed(key)),
            (_, Some(key)) => public_key(self.scheme, key).map(Cow::Owned),
            _ => None,
        };
        match self.scheme {
            Scheme::Hmac => {
                let (Key::Secret(secret) | Key::Public(_, secret)) = key;
                self.secret_bytes(secret)
                    .is_some_and(|secret| is_mac(algorithm, &secret, content, signature))
            }
            Scheme::Ed25519 => public().is_some_and(|key| is_signed(&ED25519, &key, content, signature)),
            Scheme::Ecdsa => {
                public().is_some_and(|key| is_signed(&ECDSA_P256_SHA256_ASN1, &key, content, signature))
            }
            Scheme::Rsa => {
                let algorithm: &'static dyn VerificationAlgorithm = match algorithm {
                    Algorithm::Sha1 => &RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
                    Algorithm::Sha256 => &RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::Sha512 => &aws_lc_rs::signature::RSA_PKCS1_2048_8192_SHA512,
                };
                public().is_some_and(|key| is_signed(algorithm, &key, content, signature))
            }
        }
    }

    /// Says what a request must have, for the owner of the channel.
    fn expected(&self) -> String {
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

/// Computes a MAC of a body that no channel has, so that a request to a missing channel takes as long.
pub fn waste(body: &[u8]) {
    for algorithm in [Algorithm::Sha256, Algorithm::Sha1] {
        is_mac(algorithm, &[0; 32], body, &[]);
    }
}

fn is_mac(algorithm: Algorithm, key: &[u8], content: &[u8], signature: &[u8]) -> bool {
    macro_rules! is_of {
        ($hash:ty) => {
            Hmac::<$hash>::new_from_slice(key).is_ok_and(|mut mac| {
                mac.update(content);
                mac.verify_slice(signature).is_ok()
            })
        };
    }
    match algorithm {
        Algorithm::Sha256 => is_of!(Sha256),
        Algorithm::Sha1 => is_of!(Sha1),
        Algorithm::Sha512 => is_of!(Sha512),
    }
}

fn is_signed(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    content: &[u8],
    signature: &[u8],
) -> bool {
    UnparsedPublicKey::new(algorithm, key)
        .verify(content, signature)
        .is_ok()
}

/// Returns the bytes of a public key that a person pasted; None for what is no key of the scheme.
fn public_key(scheme: Scheme, text: &str) -> Option<Vec<u8>> {
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    let body: String = body.split_whitespace().collect();
    let bytes = match hex::decode(&body) {
        Ok(bytes) => bytes,
        Err(_) => BASE64.decode(&body).ok()?,
    };
    match scheme {
        Scheme::Hmac => None,
        Scheme::Ed25519 => (bytes.len() == 32).then_some(bytes),
        Scheme::Ecdsa | Scheme::Rsa => {
            let algorithm: &'static dyn VerificationAlgorithm = match scheme {
                Scheme::Ecdsa => &ECDSA_P256_SHA256_ASN1,
                _ => &RSA_PKCS1_2048_8192_SHA256,
            };
            let key = aws_lc_rs::signature::ParsedPublicKey::new(algorithm, &bytes);
            key.is_ok().then_some(bytes)
        }
    }
}

fn read_time(text: &str, unit: Option<TimeUnit>) -> Option<UtcTime> {
    let number = || text.parse::<i64>().ok();
    match unit {
        None => as_time(&Value::String(text.to_owned())),
        Some(TimeUnit::Seconds) => {
            number().and_then(|seconds| UtcTime::from_millis(seconds.checked_mul(1_000)?))
        }
        Some(TimeUnit::Milliseconds) => number().and_then(UtcTime::from_millis),
        Some(TimeUnit::Iso8601) => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;
    use crate::sender::Request;

    #[derive(Deserialize)]
    struct Received {
        secret: String,
        algorithm: Algorithm,
        encoding: Encoding,
        prefix: String,
        body_base64: String,
        header: String,
        valid: bool,
        why: Option<String>,
    }

    #[test]
    fn good_signatures_are_told_from_bad_ones() {
        let vectors: Vec<Received> =
            serde_json::from_str(include_str!("../../../../tests/vectors/ingest-signatures.json")).unwrap();
        assert_eq!(vectors.len(), 63);
        for vector in vectors {
            let rule = SignatureRule {
                header: "x-signature".to_owned(),
                algorithm: vector.algorithm,
                encoding: vector.encoding,
                prefix: Some(vector.prefix).filter(|prefix| !prefix.is_empty()),
                ..SignatureRule::default()
            };
            let body = BASE64.decode(&vector.body_base64).unwrap();
            let mut headers = HeaderMap::new();
            headers.insert(
                "x-signature",
                HeaderValue::from_bytes(vector.header.as_bytes()).unwrap(),
            );
            let request = Request {
                method: "POST",
                url: "https://ingest.example/c",
                headers: &headers,
                body: &body,
            };
            let fields = Fields {
                request,
                body: &Value::Null,
            };
            let verifies = rule
                .verify(Key::Secret(&vector.secret), fields, UtcTime::EPOCH)
                .is_ok();
            assert_eq!(verifies, vector.valid, "{:?} {}", vector.why, vector.header);
        }
    }
}
