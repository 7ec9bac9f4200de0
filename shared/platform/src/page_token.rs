//! Tokens by which a listing goes on where a page of it ended: opaque to callers, signed, and good only for the listing that
//! they were given for.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::config::{ConfigError, Environment, Secret};
use crate::error::{Error, Result};

/// Bytes of a signature.
const TAG_BYTES: usize = 32;

/// Makes and reads page tokens.
#[derive(Clone, Debug)]
pub struct PageTokens {
    key: Secret,
}

impl PageTokens {
    /// With the key that signs them.
    pub fn new(key: Secret) -> Self {
        Self { key }
    }

    /// From `MILLRACE_PAGE_TOKEN_KEY`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self::new(Secret::new(
            environment.required("MILLRACE_PAGE_TOKEN_KEY")?,
        )))
    }

    /// The token for a place in a listing.
    pub fn issue(&self, listing: &impl Serialize, place: &impl Serialize) -> Result<String> {
        let place = serde_json::to_vec(place).map_err(Error::internal)?;
        let tag = self.mac(listing, &place)?.finalize().into_bytes();
        Ok(URL_SAFE_NO_PAD.encode([tag.as_slice(), &place].concat()))
    }

    /// The place that a token was given for. 400 for a token of another listing, and for one that was not made here.
    pub fn read<T: DeserializeOwned>(&self, listing: &impl Serialize, token: &str) -> Result<T> {
        let refusal = || {
            Error::invalid(
                "The next_page_token does not belong to this listing; send it with the same filters that it was given for, or \
                 leave it out to begin anew.",
            )
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| refusal())?;
        let (tag, place) = bytes.split_at_checked(TAG_BYTES).ok_or_else(refusal)?;
        self.mac(listing, place)?
            .verify_slice(tag)
            .map_err(|_| refusal())?;
        serde_json::from_slice(place).map_err(|_| refusal())
    }

    fn mac(&self, listing: &impl Serialize, place: &[u8]) -> Result<Hmac<Sha256>> {
        let listing = serde_json::to_vec(listing).map_err(Error::internal)?;
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.key.expose().as_bytes()).map_err(Error::internal)?;
        mac.update(&Sha256::digest(&listing));
        mac.update(place);
        Ok(mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_listing_alone() {
        let tokens = PageTokens::new(Secret::new("key".to_owned()));
        let token = tokens.issue(&("acme", "status = 1"), &(7, "run")).unwrap();
        let read: (u32, String) = tokens.read(&("acme", "status = 1"), &token).unwrap();
        assert_eq!(read, (7, "run".to_owned()));
        assert!(
            tokens
                .read::<(u32, String)>(&("acme", "status = 2"), &token)
                .is_err()
        );
        let other = PageTokens::new(Secret::new("other".to_owned()));
        assert!(
            other
                .read::<(u32, String)>(&("acme", "status = 1"), &token)
                .is_err()
        );
        for broken in ["", "x", "????", &token[..20], &format!("{token}A")] {
            assert!(
                tokens
                    .read::<(u32, String)>(&("acme", "status = 1"), broken)
                    .is_err(),
                "{broken}"
            );
        }
    }
}
