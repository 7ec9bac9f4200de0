//! Signs compact JWS: service tokens, and the digests of the event log.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, Header};
use serde::Serialize;

use crate::error::{Error, Result};

/// Characters per line of a PEM (RFC 7468).
const PEM_LINE: usize = 64;

/// An RSA key of 2,048 bits.
#[async_trait]
pub trait SigningKey: Send + Sync {
    /// Signs a message with RSASSA-PKCS1-v1_5 and SHA-256, which JWTs call RS256.
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>>;

    /// Returns the public key as the DER of an X.509 SubjectPublicKeyInfo.
    async fn public_key(&self) -> Result<Vec<u8>>;
}

/// Builds the compact JWS serialization of RFC 7515, 7.1, signed with RS256. Not done by the library, which
/// signs only with keys that it holds.
pub async fn compact_jws(key: &dyn SigningKey, key_id: &str, claims: &impl Serialize) -> Result<String> {
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some(key_id.to_owned());
    let signed = format!("{}.{}", encoded(&header)?, encoded(claims)?);
    let signature = key.sign(signed.as_bytes()).await?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn encoded(part: &impl Serialize) -> Result<String> {
    let json = serde_json::to_vec(part).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(json))
}

/// Encodes a public key's DER as PEM (RFC 7468, 13).
pub fn public_key_pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = "-----BEGIN PUBLIC KEY-----\n".to_owned();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(PEM_LINE));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str("-----END PUBLIC KEY-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pem_has_lines_of_64_characters() {
        let pem = public_key_pem(&[7; 100]);
        let lines: Vec<_> = pem.lines().map(str::len).collect();
        assert_eq!(lines, [26, 64, 64, 8, 24]);
    }
}
