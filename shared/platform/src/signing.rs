//! Signs compact JWS: service tokens, and the digests of the event log.
//!
//! A JWS names its key by `kid`: its purpose, and the fingerprint of the public key. So a key can be replaced
//! while signatures of the one before still count. Each reader decides which keys it trusts, and never takes
//! one from the JWS.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, Header};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::clock::UtcTime;
use crate::error::{Error, Result};

/// Characters per line of a PEM (RFC 7468).
const PEM_LINE: usize = 64;
/// Label of a SubjectPublicKeyInfo (RFC 7468, 13).
const PEM_LABEL: &str = "PUBLIC KEY";

/// An RSA key of 2,048 bits.
#[async_trait]
pub trait SigningKey: Send + Sync {
    /// Signs a message with RSASSA-PKCS1-v1_5 and SHA-256, which JWTs call RS256.
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>>;

    /// Returns the public key as the DER of an X.509 SubjectPublicKeyInfo.
    async fn public_key(&self) -> Result<Vec<u8>>;

    /// Returns the keys that this one replaced, latest first. They sign nothing any more.
    async fn earlier_keys(&self) -> Result<Vec<EarlierKey>> {
        Ok(Vec::new())
    }
}

/// A key that another one replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierKey {
    /// DER of an X.509 SubjectPublicKeyInfo.
    pub public_key: Vec<u8>,
    /// Time of the replacement; None where only the operator knows it.
    pub replaced_at: Option<UtcTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jws {
    pub text: String,
    /// Fingerprint of the key that signed it.
    pub key: String,
}

/// Builds the compact JWS serialization of RFC 7515, 7.1, signed with RS256. Not done by the library, which
/// signs only with keys that it holds. Its `kid` is the purpose and the fingerprint of the key.
pub async fn compact_jws(key: &dyn SigningKey, purpose: &str, claims: &impl Serialize) -> Result<Jws> {
    let claims = encoded(claims)?;
    let mut public_key = key.public_key().await?;
    loop {
        let fingerprint = fingerprint(&public_key);
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(format!("{purpose}:{fingerprint}"));
        let signed = format!("{}.{claims}", encoded(&header)?);
        let signature = key.sign(signed.as_bytes()).await?;
        // A rotation in between makes the new key sign what names the one before.
        let after = key.public_key().await?;
        if after == public_key {
            return Ok(Jws {
                text: format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)),
                key: fingerprint,
            });
        }
        public_key = after;
    }
}

/// Returns the SHA-256 of a public key's DER, in hexadecimal.
pub fn fingerprint(public_key: &[u8]) -> String {
    hex::encode(Sha256::digest(public_key))
}

/// Which key a `kid` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedKey<'a> {
    /// The purpose alone, as before keys were named.
    Any,
    /// The key with this fingerprint.
    Fingerprint(&'a str),
}

impl<'a> NamedKey<'a> {
    /// Reads a `kid`; None for one of another purpose.
    pub fn read(purpose: &str, key_id: &'a str) -> Option<Self> {
        match key_id.strip_prefix(purpose)? {
            "" => Some(Self::Any),
            rest => rest.strip_prefix(':').map(Self::Fingerprint),
        }
    }

    pub fn is(self, fingerprint: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Fingerprint(named) => named == fingerprint,
        }
    }
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

/// Reads a file of public keys: PEM with a block for each key, or the DER of one SubjectPublicKeyInfo.
/// Returns their DER. Fails with 400 for a PEM without a block, or with one of something else.
pub fn public_keys(file: &[u8]) -> Result<Vec<Vec<u8>>> {
    const PEM_BEGIN: &[u8] = b"-----BEGIN ";
    if !file.windows(PEM_BEGIN.len()).any(|part| part == PEM_BEGIN) {
        return Ok(vec![file.to_owned()]);
    }
    let no_keys = || {
        Error::invalid(
            "The PEM is not one of public keys. Each block must begin with `-----BEGIN PUBLIC KEY-----`.",
        )
    };
    let blocks = pem::parse_many(file).map_err(|cause| no_keys().with_source(cause))?;
    if blocks.is_empty() || blocks.iter().any(|block| block.tag() != PEM_LABEL) {
        return Err(no_keys());
    }
    Ok(blocks.into_iter().map(pem::Pem::into_contents).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    /// A key that is replaced while it signs for the first time.
    struct Replaced(AtomicU8);

    #[async_trait]
    impl SigningKey for Replaced {
        async fn sign(&self, _: &[u8]) -> Result<Vec<u8>> {
            self.0.store(2, Ordering::SeqCst);
            Ok(vec![2])
        }

        async fn public_key(&self) -> Result<Vec<u8>> {
            Ok(vec![self.0.load(Ordering::SeqCst)])
        }
    }

    #[tokio::test]
    async fn jws_names_the_key_that_signed_it() {
        let jws = compact_jws(&Replaced(AtomicU8::new(1)), "urn:test", &1)
            .await
            .unwrap();
        assert_eq!(jws.key, fingerprint(&[2]));
        let key_id = jsonwebtoken::decode_header(&jws.text).unwrap().kid.unwrap();
        let named = NamedKey::read("urn:test", &key_id).unwrap();
        assert!(named.is(&fingerprint(&[2])) && !named.is(&fingerprint(&[1])));
    }

    #[test]
    fn key_id_of_another_purpose_names_no_key() {
        assert_eq!(NamedKey::read("urn:a", "urn:a"), Some(NamedKey::Any));
        assert_eq!(
            NamedKey::read("urn:a", "urn:a:b"),
            Some(NamedKey::Fingerprint("b"))
        );
        for other in ["urn:ab", "urn:", "", "urn:b:a"] {
            assert_eq!(NamedKey::read("urn:a", other), None, "{other}");
        }
    }

    #[test]
    fn file_has_several_keys_as_pem_or_one_as_der() {
        let both = format!(
            "current\n{}earlier\n{}",
            public_key_pem(&[1; 70]),
            public_key_pem(&[2])
        );
        assert_eq!(public_keys(both.as_bytes()).unwrap(), [vec![1; 70], vec![2]]);
        assert_eq!(public_keys(&[1, 2]).unwrap(), [[1, 2]]);
        let private = public_key_pem(&[1]).replace("PUBLIC", "PRIVATE");
        for other in [private.as_str(), "-----BEGIN PUBLIC KEY-----\n", "-----BEGIN "] {
            assert_eq!(
                public_keys(other.as_bytes()).unwrap_err().status(),
                400,
                "{other}"
            );
        }
    }

    #[test]
    fn a_pem_has_lines_of_64_characters() {
        let pem = public_key_pem(&[7; 100]);
        let lines: Vec<_> = pem.lines().map(str::len).collect();
        assert_eq!(lines, [26, 64, 64, 8, 24]);
    }
}
