//! Signs digests.

use platform::Result;
use platform::signing::{SigningKey, compact_jws};
use sha2::{Digest as _, Sha256};

use super::LogDigest;

/// Purpose in the `kid` of a digest. The auditor gets the key separately.
pub(super) const PURPOSE: &str = "urn:millrace:digest";

/// A digest in the form of its object, with the name and hash that the next digest contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDigest {
    /// Object key.
    pub name: String,
    /// Compact JWS: the content of the object.
    pub text: String,
    /// SHA-256 of the text, in hexadecimal.
    pub sha256: String,
    /// Fingerprint of the key.
    pub key: String,
}

/// Signs a digest, with one call of KMS in the cloud.
pub async fn sign(key: &dyn SigningKey, digest: &LogDigest) -> Result<SignedDigest> {
    let signed = compact_jws(key, PURPOSE, digest).await?;
    Ok(SignedDigest {
        name: digest.name(),
        sha256: sha256_hex(signed.text.as_bytes()),
        text: signed.text,
        key: signed.key,
    })
}

/// Returns the SHA-256 of bytes, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
