//! Signs digests.

use platform::Result;
use platform::signing::{SigningKey, compact_jws};
use sha2::{Digest as _, Sha256};

use super::LogDigest;

/// `kid` of a digest. It does not identify the key: the auditor gets the key separately.
pub const KEY_ID: &str = "urn:millrace:digest";

/// A digest in the form of its object, with the name and hash that the next digest contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDigest {
    /// Object key.
    pub name: String,
    /// Compact JWS: the content of the object.
    pub text: String,
    /// SHA-256 of the text, in hexadecimal.
    pub sha256: String,
}

/// Signs a digest, with one call of KMS in the cloud.
pub async fn sign(key: &dyn SigningKey, digest: &LogDigest) -> Result<SignedDigest> {
    let text = compact_jws(key, KEY_ID, digest).await?;
    Ok(SignedDigest {
        name: digest.name(),
        sha256: sha256_hex(text.as_bytes()),
        text,
    })
}

/// Returns the SHA-256 of bytes, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
