//! Reads digests with public keys alone.

use std::collections::BTreeSet;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use platform::signing::{NamedKey, SigningKey, fingerprint, public_key_pem};
use platform::{Error, Result};

use super::signed::PURPOSE;
use super::{ERASURE_VERSION, LogDigest};

/// Public keys that a checker trusts: the current one, which signs, then those that it replaced.
pub struct PublicKeys(Vec<PublicKey>);

struct PublicKey {
    fingerprint: String,
    key: DecodingKey,
}

/// A digest, and the key that signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestOfKey {
    pub digest: LogDigest,
    /// Fingerprint of the key.
    pub key: String,
}

/// Why a digest cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is no JWS, or lacks the fields of a digest.
    Malformed,
    /// It was changed, or another key signed it than it names.
    Signature,
    /// It names a key, by this fingerprint, that the checker does not trust.
    UntrustedKey(String),
    /// A newer version of Millrace wrote it.
    Newer,
}

impl Unreadable {
    /// Reason for the auditor, to follow 'the digest'.
    pub fn sentence(&self) -> String {
        match self {
            Self::Malformed => "is not a digest, or is cut short".to_owned(),
            Self::Signature => "has a signature that does not fit the key".to_owned(),
            Self::UntrustedKey(key) => {
                format!("is signed with the key {key}, which is none of the keys of this check")
            }
            Self::Newer => "was written by a newer version of Millrace".to_owned(),
        }
    }
}

impl PublicKeys {
    /// Takes the public halves of a signing key, and of those that it replaced.
    pub async fn of(key: &dyn SigningKey) -> Result<Self> {
        let mut keys = vec![key.public_key().await?];
        keys.extend(key.earlier_keys().await?.into_iter().map(|key| key.public_key));
        Self::new(&keys)
    }

    /// Takes the DER of X.509 SubjectPublicKeyInfos, that of the current key first. Fails with 400 without a
    /// key, and for a key that is not RSA.
    pub fn new(keys: &[Vec<u8>]) -> Result<Self> {
        let mut fingerprints = BTreeSet::new();
        let mut unique = Vec::new();
        for der in keys {
            let key = DecodingKey::from_rsa_pem(public_key_pem(der).as_bytes()).map_err(|cause| {
                Error::invalid("The key is not the PEM or DER of an RSA public key.").with_source(cause)
            })?;
            let fingerprint = fingerprint(der);
            if fingerprints.insert(fingerprint.clone()) {
                unique.push(PublicKey { fingerprint, key });
            }
        }
        match unique.is_empty() {
            true => Err(Error::invalid("There is no public key to check digests with.")),
            false => Ok(Self(unique)),
        }
    }

    /// Returns whether this is the fingerprint of the current key.
    pub fn is_current(&self, fingerprint: &str) -> bool {
        self.0.first().is_some_and(|key| key.fingerprint == fingerprint)
    }

    /// Verifies and parses the bytes of a digest's object, with the key that it names. A digest from before
    /// keys were named holds with any of them.
    pub fn open(&self, bytes: &[u8]) -> std::result::Result<DigestOfKey, Unreadable> {
        let header = decode_header(bytes).map_err(|_| Unreadable::Malformed)?;
        let key_id = header.kid.unwrap_or_default();
        let named = NamedKey::read(PURPOSE, &key_id).ok_or(Unreadable::Malformed)?;
        let mut reason = match named {
            NamedKey::Any => Unreadable::Signature,
            NamedKey::Fingerprint(named) => Unreadable::UntrustedKey(named.to_owned()),
        };
        for key in self.0.iter().filter(|key| named.is(&key.fingerprint)) {
            match key.open(bytes) {
                Ok(digest) => {
                    return Ok(DigestOfKey {
                        digest,
                        key: key.fingerprint.clone(),
                    });
                }
                Err(error) => reason = error,
            }
            if reason != Unreadable::Signature {
                break;
            }
        }
        Err(reason)
    }
}

impl PublicKey {
    fn open(&self, bytes: &[u8]) -> std::result::Result<LogDigest, Unreadable> {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.set_required_spec_claims::<&str>(&[]);
        // The version is read first, because later versions may have other fields.
        let version =
            decode::<Version>(bytes, &self.key, &validation).map_err(|error| match error.kind() {
                ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => Unreadable::Signature,
                _ => Unreadable::Malformed,
            })?;
        if version.claims.schema_version > ERASURE_VERSION {
            return Err(Unreadable::Newer);
        }
        let digest = decode::<LogDigest>(bytes, &self.key, &validation);
        digest
            .map(|digest| digest.claims)
            .map_err(|_| Unreadable::Malformed)
    }
}

#[derive(serde::Deserialize)]
struct Version {
    schema_version: u32,
}
