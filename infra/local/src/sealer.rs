//! Emulates a KMS key: AES-256-GCM with a key of the data directory.

use async_trait::async_trait;
use aws_lc_rs::aead::{AES_256_GCM, Aad, RandomizedNonceKey};
use aws_lc_rs::aead::{NONCE_LEN, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use platform::config::{ConfigError, Secret};
use platform::sealing::{Place, Sealer, check_length};
use platform::{Error, Result};

use crate::data_dir::{DataDir, read_or_make};

/// Seals with the key in `keys/sealing.key` of a data directory.
pub struct LocalSealer {
    key: RandomizedNonceKey,
}

impl LocalSealer {
    /// Reads the directory's key, and makes one where it is missing.
    pub fn open(data: &DataDir) -> Result<Self, ConfigError> {
        let path = data.path("keys/sealing.key");
        let bytes = read_or_make(&path, || Ok(rand::random::<[u8; 32]>().to_vec()))?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(|_| {
            ConfigError::new(format!(
                "{} is not a key of 32 bytes. Put the right file back: without it, what it sealed cannot be read.",
                path.display()
            ))
        })?;
        Ok(Self { key })
    }
}

#[async_trait]
impl Sealer for LocalSealer {
    async fn seal(&self, place: Place<'_>, secret: &Secret) -> Result<String> {
        check_length(secret)?;
        let mut bytes = secret.expose().as_bytes().to_vec();
        let nonce = self
            .key
            .seal_in_place_append_tag(Aad::from(bound_to(place)), &mut bytes)
            .map_err(Error::internal)?;
        Ok(BASE64.encode([nonce.as_ref().as_slice(), &bytes].concat()))
    }

    async fn open(&self, place: Place<'_>, sealed: &str) -> Result<Secret> {
        let shut = || Error::internal("the secret was not sealed for this place with this key");
        let bytes = BASE64.decode(sealed).map_err(Error::internal)?;
        let (nonce, rest) = bytes.split_first_chunk::<NONCE_LEN>().ok_or_else(shut)?;
        let mut rest = rest.to_vec();
        let opened = self
            .key
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(bound_to(place)),
                &mut rest,
            )
            .map_err(|_| shut())?;
        let text = String::from_utf8(opened.to_vec()).map_err(Error::internal)?;
        Ok(Secret::new(text))
    }
}

/// Encodes a place as bytes. Account and project contain no `/`, so two places never have the same bytes.
fn bound_to(place: Place<'_>) -> Vec<u8> {
    format!("{}/{}", place.tenant, place.name).into_bytes()
}

#[cfg(test)]
mod tests {
    use platform::Tenant;
    use platform::sealing::MAX_SECRET_BYTES;

    use super::*;

    const NAME: &str = "channel/orders";

    fn sealer(folder: &tempfile::TempDir) -> LocalSealer {
        LocalSealer::open(&DataDir::open_keys(folder.path()).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_secret_opens_where_it_was_sealed_after_a_restart_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (
            Tenant::new("acme", "demo").unwrap(),
            Tenant::new("acme", "other").unwrap(),
        );
        let place = Place {
            tenant: &ours,
            name: NAME,
        };
        let secret = Secret::new("whsec_1");
        let first = sealer(&folder).seal(place, &secret).await.unwrap();
        let second = sealer(&folder).seal(place, &secret).await.unwrap();
        assert_ne!(first, second, "the same secret twice looks the same");
        assert!(!first.contains("whsec"));

        let after_restart = sealer(&folder);
        for sealed in [&first, &second] {
            assert_eq!(
                after_restart.open(place, sealed).await.unwrap().expose(),
                "whsec_1"
            );
        }
        for elsewhere in [
            Place {
                tenant: &theirs,
                name: NAME,
            },
            Place {
                tenant: &ours,
                name: "channel/other",
            },
        ] {
            assert!(
                after_restart.open(elsewhere, &first).await.is_err(),
                "{elsewhere:?}"
            );
        }
        let another_key = sealer(&tempfile::tempdir().unwrap());
        assert!(another_key.open(place, &first).await.is_err());
    }

    #[tokio::test]
    async fn changed_and_cut_texts_stay_shut() {
        let folder = tempfile::tempdir().unwrap();
        let tenant = Tenant::new("acme", "demo").unwrap();
        let place = Place {
            tenant: &tenant,
            name: NAME,
        };
        let sealer = sealer(&folder);
        let sealed = sealer.seal(place, &Secret::new("s")).await.unwrap();
        let bytes = BASE64.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(
                sealer.open(place, &BASE64.encode(&changed)).await.is_err(),
                "byte {at}"
            );
            assert!(
                sealer.open(place, &BASE64.encode(&bytes[..at])).await.is_err(),
                "{at} bytes"
            );
        }
        assert!(sealer.open(place, "not base64").await.is_err());
    }

    #[tokio::test]
    async fn a_secret_that_kms_would_not_take_is_refused_here_too() {
        let folder = tempfile::tempdir().unwrap();
        let tenant = Tenant::new("acme", "demo").unwrap();
        let place = Place {
            tenant: &tenant,
            name: NAME,
        };
        let longest = Secret::new("x".repeat(MAX_SECRET_BYTES));
        let sealed = sealer(&folder).seal(place, &longest).await.unwrap();
        assert_eq!(
            sealer(&folder).open(place, &sealed).await.unwrap().expose().len(),
            MAX_SECRET_BYTES
        );
        let longer = Secret::new("x".repeat(MAX_SECRET_BYTES + 1));
        assert_eq!(
            sealer(&folder).seal(place, &longer).await.unwrap_err().status(),
            400
        );
    }

    #[test]
    fn a_file_that_is_no_key_stops_the_start_in_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open_keys(folder.path()).unwrap();
        std::fs::write(data.path("keys/sealing.key"), "short").unwrap();
        let refusal = LocalSealer::open(&data).err().unwrap().to_string();
        assert!(refusal.contains("is not a key of 32 bytes"), "{refusal}");
    }
}
