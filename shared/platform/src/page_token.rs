//! Issues tokens with which a listing continues after a page. They are sealed, because their position may be
//! an entry that the caller does not see, and valid only for the listing that they were issued for.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use crate::config::{ConfigError, Secret, variables};
use crate::deployment::Deployment;
use crate::error::{Error, Result};
use crate::secrets::SecretSource;

/// What the key of a token is derived for, so that another use of the same secret has another key.
const PURPOSE: &[u8] = b"millrace page token, AES-256-GCM";
/// Time for which a listing looks for the entries of a page, in milliseconds, where no index serves a filter.
/// A request has 27 s.
pub const LOOKING_MS: u64 = 10_000;
/// A position is padded to a multiple of this, in bytes, so that the length of a token tells nothing either.
const BLOCK_BYTES: usize = 128;

/// Issues and reads page tokens.
#[derive(Clone, Debug)]
pub struct PageTokens {
    key: SecretSource,
}

impl PageTokens {
    pub fn new(key: Secret) -> Self {
        Self {
            key: SecretSource::given(key),
        }
    }

    /// Reads `MILLRACE_PAGE_TOKEN_KEY`, or the secret named in `MILLRACE_PAGE_TOKEN_SECRET`.
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let (value, name) = (variables::PAGE_TOKEN_KEY, variables::PAGE_TOKEN_SECRET);
        let key = deployment.secret(value, name)?;
        key.map(|key| Self { key })
            .ok_or_else(|| ConfigError::missing(name))
    }

    /// Issues a token for a position in a listing.
    pub async fn issue(&self, listing: &impl Serialize, place: &impl Serialize) -> Result<String> {
        let mut bytes = serde_json::to_vec(place).map_err(Error::internal)?;
        // JSON may end with spaces.
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), b' ');
        let nonce = key(&self.key.versions().await?.current)?
            .seal_in_place_append_tag(Aad::from(bound_to(listing)?), &mut bytes)
            .map_err(Error::internal)?;
        Ok(BASE64.encode([nonce.as_ref().as_slice(), &bytes].concat()))
    }

    /// Returns the position of a token, which the request has in the field `field`. 400 for a token of
    /// another listing, and for one that this service did not issue.
    pub async fn read<T: DeserializeOwned>(
        &self,
        listing: &impl Serialize,
        (field, token): (&str, &str),
    ) -> Result<T> {
        let refusal = || {
            Error::invalid(format!(
                "The {field} does not belong to this listing; send it with the same filters that it was given for, or leave it \
                 out to begin anew."
            ))
        };
        let sealed = BASE64.decode(token).map_err(|_| refusal())?;
        let listing = bound_to(listing)?;
        for versions in [self.key.versions().await?, self.key.renewed().await?] {
            for secret in std::iter::once(&versions.current).chain(&versions.previous) {
                if let Some(place) = open(secret, &listing, &sealed)? {
                    return serde_json::from_slice(&place).map_err(|_| refusal());
                }
            }
        }
        Err(refusal())
    }
}

/// Returns the position in a token; None where it was not sealed with this secret for this listing.
fn open(secret: &Secret, listing: &[u8], sealed: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some((nonce, rest)) = sealed.split_first_chunk::<NONCE_LEN>() else {
        return Ok(None);
    };
    let mut rest = rest.to_vec();
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let opened = key(secret)?.open_in_place(nonce, Aad::from(listing), &mut rest);
    Ok(opened.ok().map(|place| place.to_vec()))
}

fn key(secret: &Secret) -> Result<RandomizedNonceKey> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).map_err(Error::internal)?;
    mac.update(PURPOSE);
    RandomizedNonceKey::new(&AES_256_GCM, &mac.finalize().into_bytes()).map_err(Error::internal)
}

fn bound_to(listing: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(listing).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_outlives_one_rotation_of_its_key() {
        let old = PageTokens::new(Secret::new("old"));
        let token = old.issue(&"listing", &7).await.unwrap();
        let rotated = |current: &str, previous: &str| PageTokens {
            key: SecretSource::rotated(Secret::new(current), Secret::new(previous)),
        };
        assert_eq!(
            rotated("new", "old")
                .read::<u32>(&"listing", ("cursor", &token))
                .await
                .unwrap(),
            7
        );
        assert!(
            rotated("newer", "new")
                .read::<u32>(&"listing", ("cursor", &token))
                .await
                .is_err()
        );
        let token = rotated("new", "old").issue(&"listing", &7).await.unwrap();
        assert!(old.read::<u32>(&"listing", ("cursor", &token)).await.is_err());
    }

    #[tokio::test]
    async fn a_token_shows_neither_its_position_nor_the_length_of_it() {
        let tokens = PageTokens::new(Secret::new("key"));
        let mut lengths = Vec::new();
        for place in ["0197f3c2-8a41-7d0e-9b1c-000000000012", "order-7"] {
            let token = tokens.issue(&"listing", &(7, place)).await.unwrap();
            let bytes = BASE64.decode(&token).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(place));
            assert_ne!(token, tokens.issue(&"listing", &(7, place)).await.unwrap());
            lengths.push(token.len());
        }
        assert_eq!(lengths[0], lengths[1]);
    }

    #[tokio::test]
    async fn a_token_is_good_for_its_listing_alone() {
        let tokens = PageTokens::new(Secret::new("key".to_owned()));
        let token = tokens.issue(&("acme", "status = 1"), &(7, "run")).await.unwrap();
        let read: (u32, String) = tokens
            .read(&("acme", "status = 1"), ("cursor", &token))
            .await
            .unwrap();
        assert_eq!(read, (7, "run".to_owned()));
        assert!(
            tokens
                .read::<(u32, String)>(&("acme", "status = 2"), ("cursor", &token))
                .await
                .is_err()
        );
        let other = PageTokens::new(Secret::new("other".to_owned()));
        assert!(
            other
                .read::<(u32, String)>(&("acme", "status = 1"), ("cursor", &token))
                .await
                .is_err()
        );
        for broken in ["", "x", "????", &token[..20], &format!("{token}A")] {
            assert!(
                tokens
                    .read::<(u32, String)>(&("acme", "status = 1"), ("cursor", broken))
                    .await
                    .is_err(),
                "{broken}"
            );
        }
    }
}
