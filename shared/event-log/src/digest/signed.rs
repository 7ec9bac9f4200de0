//! Signs digests.

use platform::Result;
use platform::signing::{SigningKey, compact_jws};
use sha2::{Digest as _, Sha256};

use super::LogDigest;

/// The `kid` of a digest. The key is told apart from others by what the auditor was given, not by this.
pub const KEY_ID: &str = "urn:millrace:digest";

/// The object, as it is written and as the next digest refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDigest {
    /// Its object key.
    pub name: String,
    /// The compact JWS: the object's bytes.
    pub text: String,
    /// The SHA-256 of the text in hexadecimal.
    pub sha256: String,
}

/// One call of KMS in the cloud.
pub async fn sign(key: &dyn SigningKey, digest: &LogDigest) -> Result<SignedDigest> {
    let text = compact_jws(key, KEY_ID, digest).await?;
    Ok(SignedDigest {
        name: digest.name(),
        sha256: sha256_hex(text.as_bytes()),
        text,
    })
}

/// The SHA-256 of bytes in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
