//! Signs deliveries to webhooks, and makes secrets and tokens.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use platform::config::Secret;
use platform::{Error, Result};
use sha2::Sha256;

/// Size of a generated secret, in bytes.
const SECRET_BYTES: usize = 32;
/// Prefix of a signing secret; the rest is the key of the Standard Webhooks specification in base64.
const SECRET_PREFIX: &str = "whsec_";
/// Prefix of an ingest token.
const TOKEN_PREFIX: &str = "mri_";
/// Number of characters of a secret or token that are shown.
const HINT_CHARACTERS: usize = 4;

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
    use serde::Deserialize;

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
