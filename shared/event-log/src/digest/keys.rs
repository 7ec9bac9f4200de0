//! Reads digests with the public key alone.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use platform::signing::public_key_pem;
use platform::{Error, Result};

use super::{ERASURE_VERSION, LogDigest};

/// Public half of the key that signs digests.
pub struct PublicKey(DecodingKey);

/// Why a digest cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is no JWS, or lacks the fields of a digest.
    Malformed,
    /// Another key signed it, or it was changed.
    Signature,
    /// A newer version of Millrace wrote it.
    Newer,
}

impl Unreadable {
    /// Reason for the auditor, to follow 'the digest'.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Malformed => "is not a digest, or is cut short",
            Self::Signature => "has a signature that does not fit the key",
            Self::Newer => "was written by a newer version of Millrace",
        }
    }
}

impl PublicKey {
    /// Parses a PEM, or the DER of an X.509 SubjectPublicKeyInfo. Fails with 400 for anything else.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let pem = match bytes.trim_ascii_start().starts_with(b"-----") {
            true => String::from_utf8_lossy(bytes).into_owned(),
            false => public_key_pem(bytes),
        };
        let key = DecodingKey::from_rsa_pem(pem.as_bytes());
        key.map(Self).map_err(|cause| {
            Error::invalid("The key is not the PEM or DER of an RSA public key.").with_source(cause)
        })
    }

    /// Verifies and parses the bytes of a digest's object.
    pub fn open(&self, bytes: &[u8]) -> std::result::Result<LogDigest, Unreadable> {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.set_required_spec_claims::<&str>(&[]);
        // The version is read first, because later versions may have other fields.
        let version = decode::<Version>(bytes, &self.0, &validation).map_err(|error| match error.kind() {
            ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => Unreadable::Signature,
            _ => Unreadable::Malformed,
        })?;
        if version.claims.schema_version > ERASURE_VERSION {
            return Err(Unreadable::Newer);
        }
        let digest = decode::<LogDigest>(bytes, &self.0, &validation);
        digest
            .map(|digest| digest.claims)
            .map_err(|_| Unreadable::Malformed)
    }
}

#[derive(serde::Deserialize)]
struct Version {
    schema_version: u32,
}
