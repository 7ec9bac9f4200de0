//! Verifies the signatures of requests to a channel.

use std::borrow::Cow;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use platform::UtcTime;
use serde_json::Value;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use subtle::ConstantTimeEq as _;

use super::content::{self, Values};
use super::refusal::{Refusal, RefusalReason};
use super::signature::{Algorithm, Encoding, Scheme, SecretEncoding, SignatureRule, TimeUnit};
use super::source::{self, Fields};
use crate::sender_time::as_time;

/// Maximum length of a signature in characters: RSA with 8,192 bits has 1,368 in base64.
const MAX_SIGNATURE_BYTES: usize = 2_048;
/// Most signatures of a header that are compared.
const MAX_SIGNATURES: usize = 8;
/// Time by which the signed time of a request may differ from that of its arrival, in seconds.
const DEFAULT_TOLERANCE_SECONDS: u32 = 300;
/// Prefix of a secret of the Standard Webhooks specification.
const SECRET_PREFIX: &str = "whsec_";

/// What a signature is verified with.
#[derive(Clone, Copy)]
pub enum Key<'a> {
    /// Text of the signing secret.
    Secret(&'a str),
    /// Public key of a certificate, as DER of its `SubjectPublicKeyInfo`, and the text of the signing secret.
    Public(&'a [u8], &'a str),
}

impl SignatureRule {
    /// Verifies the signature of a request that arrives at `now`. Compares in constant time.
    pub fn verify(&self, key: Key<'_>, fields: Fields<'_>, now: UtcTime) -> Result<(), Refusal> {
        let missing = || Refusal::new(RefusalReason::SignatureMissing, self.describe());
        let wrong = || Refusal::new(RefusalReason::SignatureWrong, self.describe());
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
            // A faster response would reveal that no part of the header is read as a signature.
            fits(Vec::new());
        }
        match signatures.any(fits) {
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
            let signature = match self.encoding {
                _ if part.len() > MAX_SIGNATURE_BYTES => None,
                Encoding::Hex => hex::decode(part).ok(),
                Encoding::Base64 => BASE64.decode(part).ok(),
            };
            Some(signature.unwrap_or_default())
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
    fn time(&self, header: &str, fields: Fields<'_>, now: UtcTime) -> Result<String, Refusal> {
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
            (_, None) => Err(Refusal::new(RefusalReason::TimestampMissing, self.describe())),
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
                let body_digest = hex::encode(Sha256::digest(fields.request.body));
                body_digest
                    .as_bytes()
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

    pub(super) fn secret_bytes<'s>(&self, secret: &'s str) -> Option<Cow<'s, [u8]>> {
        let bytes = match self.secret_encoding {
            SecretEncoding::Text => return Some(Cow::Borrowed(secret.as_bytes())),
            SecretEncoding::Hex => hex::decode(secret).ok(),
            SecretEncoding::Base64 => BASE64.decode(secret).ok(),
            SecretEncoding::Whsec => {
                let text = secret.strip_prefix(SECRET_PREFIX).unwrap_or(secret);
                BASE64.decode(text).ok()
            }
        };
        bytes.filter(|bytes| !bytes.is_empty()).map(Cow::Owned)
    }
}

/// Computes the MACs that a signed channel would: a faster response would reveal that a channel is missing or
/// unsigned.
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
pub(super) fn public_key(scheme: Scheme, text: &str) -> Option<Vec<u8>> {
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
    use serde::Deserialize;

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
