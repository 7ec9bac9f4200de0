//! Verifies the signatures of requests to a channel, and signs deliveries to webhooks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use platform::config::Secret;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::Sha256;

/// Size of a generated secret, in bytes.
const SECRET_BYTES: usize = 32;
/// Maximum length of a signature in characters: SHA-256 in hex has 64.
const MAX_SIGNATURE_BYTES: usize = 128;
/// Prefix of a signing secret; the rest is the key of the Standard Webhooks specification in base64.
const SECRET_PREFIX: &str = "whsec_";
/// Prefix of an ingest token.
const TOKEN_PREFIX: &str = "mri_";
/// Number of characters of a secret or token that are shown.
const HINT_CHARACTERS: usize = 4;

/// Hash function of a sender's signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// HMAC with SHA-256.
    #[default]
    Sha256,
    /// HMAC with SHA-1.
    Sha1,
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

/// How a sender signs its bodies: HMAC over the raw body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignatureRule {
    /// Name of the request header that carries the signature; 1 to 100 letters, digits, `-` or `_`.
    pub header: String,
    /// Hash function of the HMAC. Default: `sha256`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub algorithm: Algorithm,
    /// Notation of the signature. Default: `hex`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub encoding: Encoding,
    /// Text before the signature in the header, such as `sha256=`; at most 100 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

impl SignatureRule {
    /// Fails with 400 for an invalid header name or prefix.
    pub fn check(&self) -> Result<()> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !(1..=100).contains(&self.header.len()) || !self.header.bytes().all(fits) {
            return Err(Error::invalid_field(
                "signature.header",
                "is not the name of a header, such as x-hub-signature-256.",
            ));
        }
        if self.prefix.as_ref().is_some_and(|prefix| prefix.len() > 100) {
            return Err(Error::invalid_field("signature.prefix", "has at most 100 bytes."));
        }
        Ok(())
    }

    /// Returns whether a header holds the signature of a body. Compares signatures in constant time.
    pub fn verifies(&self, secret: &Secret, body: &[u8], header: &str) -> bool {
        let header = match &self.prefix {
            None => Some(header),
            Some(prefix) => header.strip_prefix(prefix.as_str()),
        };
        // A longer signature would take measurably longer, which shows whether the header is decoded at all.
        let header = header.filter(|text| text.len() <= MAX_SIGNATURE_BYTES);
        let signature = match self.encoding {
            Encoding::Hex => header.and_then(|text| hex::decode(text).ok()),
            Encoding::Base64 => header.and_then(|text| BASE64.decode(text).ok()),
        };
        // An undecodable signature is compared too, so that it takes as long as a wrong one.
        let signature = signature.unwrap_or_default();
        let key = secret.expose().as_bytes();
        match self.algorithm {
            Algorithm::Sha256 => {
                Hmac::<Sha256>::new_from_slice(key).is_ok_and(|mac| is_of(mac, body, &signature))
            }
            Algorithm::Sha1 => {
                Hmac::<Sha1>::new_from_slice(key).is_ok_and(|mac| is_of(mac, body, &signature))
            }
        }
    }
}

fn is_of(mut mac: impl hmac::Mac, body: &[u8], signature: &[u8]) -> bool {
    mac.update(body);
    mac.verify_slice(signature).is_ok()
}

/// Generates a secret for the signatures of deliveries or senders.
pub fn new_signing_secret() -> Secret {
    let bytes = rand::random::<[u8; SECRET_BYTES]>();
    Secret::new(format!("{SECRET_PREFIX}{}", BASE64.encode(bytes)))
}

pub fn new_ingest_token() -> Secret {
    let bytes = rand::random::<[u8; SECRET_BYTES]>();
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    Secret::new(format!("{TOKEN_PREFIX}{text}"))
}

/// Returns the last characters of a secret, by which its owner recognizes it.
pub fn hint(secret: &Secret) -> String {
    let characters = secret.expose().chars().count();
    let skipped = characters.saturating_sub(HINT_CHARACTERS);
    secret.expose().chars().skip(skipped).collect()
}

/// Returns the contract's signature of a delivery: `v1=<hex>` over `<timestamp>.<delivery id>.<body>`.
pub fn delivery_signature(secret: &Secret, timestamp: i64, delivery_id: &str, body: &[u8]) -> Result<String> {
    let head = format!("{timestamp}.{delivery_id}.");
    let tag = sha256(secret.expose().as_bytes(), &[head.as_bytes(), body])?;
    Ok(format!("v1={}", hex::encode(tag)))
}

/// Returns the signature of the Standard Webhooks specification: `v1,<base64>` over
/// `<id>.<timestamp>.<body>`. Its key is the decoded part of the secret after `whsec_`.
pub fn standard_signature(secret: &Secret, id: &str, timestamp: i64, body: &[u8]) -> Result<String> {
    let text = secret.expose();
    let key = text
        .strip_prefix(SECRET_PREFIX)
        .and_then(|text| BASE64.decode(text).ok())
        .unwrap_or_else(|| text.as_bytes().to_vec());
    let head = format!("{id}.{timestamp}.");
    let tag = sha256(&key, &[head.as_bytes(), body])?;
    Ok(format!("v1,{}", BASE64.encode(tag)))
}

fn sha256(key: &[u8], parts: &[&[u8]]) -> Result<Vec<u8>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(Error::internal)?;
    for part in parts {
        mac.update(part);
    }
    Ok(mac.finalize().into_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Sent {
        secret: String,
        timestamp: i64,
        delivery_id: String,
        body_base64: String,
        signature: String,
    }

    /// The test vectors come from Python's `hmac` and `hashlib`.
    #[test]
    fn deliveries_are_signed_as_the_contract_says() {
        let vectors: Vec<Sent> =
            serde_json::from_str(include_str!("../../../tests/vectors/webhook-signatures.json")).unwrap();
        assert_eq!(vectors.len(), 24);
        for vector in vectors {
            let body = BASE64.decode(&vector.body_base64).unwrap();
            let secret = Secret::new(vector.secret);
            let signature =
                delivery_signature(&secret, vector.timestamp, &vector.delivery_id, &body).unwrap();
            assert_eq!(signature, vector.signature);
        }
    }

    /// The signed example request and its secret in `docs/webhooks.md` are right.
    #[test]
    fn the_worked_example_of_the_page_is_signed_as_deliveries_are() {
        let page = include_str!("../../../docs/webhooks.md");
        let secret = page.lines().find(|line| line.starts_with("whsec_")).unwrap();
        let secret = Secret::new(secret);
        let (_, request) = page.split_once("\n```http\n").unwrap();
        let (request, _) = request.split_once("\n```").unwrap();
        let (head, body) = request.split_once("\n\n").unwrap();
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(found, _)| *found == name).unwrap().1
        };
        let id = header("X-Service-Delivery-Id");
        let time = |name: &str| header(name).parse::<i64>().unwrap();
        let ours = delivery_signature(&secret, time("X-Service-Timestamp"), id, body.as_bytes());
        assert_eq!(ours.unwrap(), header("X-Service-Signature"));
        let standard = standard_signature(
            &secret,
            header("webhook-id"),
            time("webhook-timestamp"),
            body.as_bytes(),
        );
        assert_eq!(standard.unwrap(), header("webhook-signature"));
        assert!(page.contains(&format!("{}.{id}.{}", header("X-Service-Timestamp"), &body[..20])));

        // The body of the example is a valid delivery body.
        #[derive(Deserialize)]
        struct Body {
            event: crate::Envelope,
            delivery: crate::delivery::DeliveryRef,
        }
        let read: Body = serde_json::from_str(body).unwrap();
        read.event.check().unwrap();
        assert_eq!(
            (read.delivery.id.as_str(), header("X-Service-Event-Id")),
            (id, read.event.event_id.as_str())
        );
        let written = crate::delivery::body(&read.event, &read.delivery).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), body);
    }

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
            serde_json::from_str(include_str!("../../../tests/vectors/ingest-signatures.json")).unwrap();
        assert_eq!(vectors.len(), 63);
        for vector in vectors {
            let rule = SignatureRule {
                header: "x-signature".to_owned(),
                algorithm: vector.algorithm,
                encoding: vector.encoding,
                prefix: Some(vector.prefix).filter(|prefix| !prefix.is_empty()),
            };
            let body = BASE64.decode(&vector.body_base64).unwrap();
            let secret = Secret::new(vector.secret);
            let verifies = rule.verifies(&secret, &body, &vector.header);
            assert_eq!(verifies, vector.valid, "{:?} {}", vector.why, vector.header);
        }
    }

    /// The example of the Standard Webhooks specification.
    #[test]
    fn the_standard_signature_is_that_of_the_specification() {
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let body = br#"{"test": 2432232314}"#;
        let signature = standard_signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(
            signature.unwrap(),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn secrets_are_long_and_never_the_same() {
        let (one, another) = (new_signing_secret(), new_signing_secret());
        assert!(one.expose().starts_with("whsec_") && one.expose().len() == 50);
        assert_ne!(one.expose(), another.expose());
        assert!(one.expose().ends_with(&hint(&one)) && hint(&one).len() == 4);
        assert_eq!(new_ingest_token().expose().len(), 47);
    }
}
