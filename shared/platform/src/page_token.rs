//! Issues tokens with which a listing continues after a page: opaque to callers, signed, and valid only for
//! the listing that they were issued for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::config::{ConfigError, Secret};
use crate::deployment::Deployment;
use crate::error::{Error, Result};
use crate::secrets::{SecretSource, Versions};

/// Length of a signature, in bytes.
const TAG_BYTES: usize = 32;

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
        let (value, name) = ("MILLRACE_PAGE_TOKEN_KEY", "MILLRACE_PAGE_TOKEN_SECRET");
        let key = deployment.secret(value, name)?;
        key.map(|key| Self { key })
            .ok_or_else(|| ConfigError::missing(name))
    }

    /// Issues a token for a position in a listing.
    pub async fn issue(&self, listing: &impl Serialize, place: &impl Serialize) -> Result<String> {
        let place = serde_json::to_vec(place).map_err(Error::internal)?;
        let key = self.key.versions().await?.current;
        let tag = mac(&key, listing, &place)?.finalize().into_bytes();
        Ok(BASE64.encode([tag.as_slice(), &place].concat()))
    }

    /// Returns the position of a token. 400 for a token of another listing, and for one that this service did
    /// not issue.
    pub async fn read<T: DeserializeOwned>(&self, listing: &impl Serialize, token: &str) -> Result<T> {
        let refusal = || {
            Error::invalid(
                "The next_page_token does not belong to this listing; send it with the same filters that it was given for, or \
                 leave it out to begin anew.",
            )
        };
        let bytes = BASE64.decode(token).map_err(|_| refusal())?;
        let (tag, place) = bytes.split_at_checked(TAG_BYTES).ok_or_else(refusal)?;
        let is_signed = |keys: &Versions| -> Result<bool> {
            for key in std::iter::once(&keys.current).chain(&keys.previous) {
                if mac(key, listing, place)?.verify_slice(tag).is_ok() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        if !is_signed(&self.key.versions().await?)? && !is_signed(&self.key.renewed().await?)? {
            return Err(refusal());
        }
        serde_json::from_slice(place).map_err(|_| refusal())
    }
}

fn mac(key: &Secret, listing: &impl Serialize, place: &[u8]) -> Result<Hmac<Sha256>> {
    let listing = serde_json::to_vec(listing).map_err(Error::internal)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose().as_bytes()).map_err(Error::internal)?;
    mac.update(&Sha256::digest(&listing));
    mac.update(place);
    Ok(mac)
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
                .read::<u32>(&"listing", &token)
                .await
                .unwrap(),
            7
        );
        assert!(
            rotated("newer", "new")
                .read::<u32>(&"listing", &token)
                .await
                .is_err()
        );
        let token = rotated("new", "old").issue(&"listing", &7).await.unwrap();
        assert!(old.read::<u32>(&"listing", &token).await.is_err());
    }

    #[tokio::test]
    async fn a_token_is_good_for_its_listing_alone() {
        let tokens = PageTokens::new(Secret::new("key".to_owned()));
        let token = tokens.issue(&("acme", "status = 1"), &(7, "run")).await.unwrap();
        let read: (u32, String) = tokens.read(&("acme", "status = 1"), &token).await.unwrap();
        assert_eq!(read, (7, "run".to_owned()));
        assert!(
            tokens
                .read::<(u32, String)>(&("acme", "status = 2"), &token)
                .await
                .is_err()
        );
        let other = PageTokens::new(Secret::new("other".to_owned()));
        assert!(
            other
                .read::<(u32, String)>(&("acme", "status = 1"), &token)
                .await
                .is_err()
        );
        for broken in ["", "x", "????", &token[..20], &format!("{token}A")] {
            assert!(
                tokens
                    .read::<(u32, String)>(&("acme", "status = 1"), broken)
                    .await
                    .is_err(),
                "{broken}"
            );
        }
    }
}
