//! Emulates the KMS keys that sign service tokens and the digests of the event log: RSA keys of the data
//! directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use platform::config::ConfigError;
use platform::signing::SigningKey;
use platform::{Error, Result};
use tokio::sync::OnceCell;

use crate::data_dir::{DataDir, read_or_make};

/// Signs with a key in `keys` of a data directory. Making one takes a tenth of a second, so a missing key is
/// made at its first use.
#[derive(Clone)]
pub struct LocalSigningKey {
    path: PathBuf,
    key: Arc<OnceCell<KeyPair>>,
}

impl LocalSigningKey {
    /// Opens the key of service tokens.
    pub fn of_services(data: &DataDir) -> Result<Self, ConfigError> {
        Self::open(data, "keys/service-signing.pkcs8")
    }

    /// Opens the key of the event log's digests.
    pub fn of_digests(data: &DataDir) -> Result<Self, ConfigError> {
        Self::open(data, "keys/digest-signing.pkcs8")
    }

    /// Reads the key, if there is one.
    fn open(data: &DataDir, name: &str) -> Result<Self, ConfigError> {
        let path = data.path(name);
        let key = match path.exists() {
            true => OnceCell::new_with(Some(read(&path)?)),
            false => OnceCell::new(),
        };
        Ok(Self {
            path,
            key: Arc::new(key),
        })
    }

    /// 503 if the key cannot be written, such as on a full disk; the next use tries again.
    async fn key(&self) -> Result<&KeyPair> {
        let key = self.key.get_or_try_init(|| async {
            let path = self.path.clone();
            let result = tokio::task::spawn_blocking(move || read(&path)).await;
            result
                .map_err(Error::internal)?
                .map_err(|cause| Error::unavailable(cause.to_string()))
        });
        key.await
    }
}

/// Reads a key, and makes one where it is missing.
fn read(path: &Path) -> Result<KeyPair, ConfigError> {
    let der = read_or_make(path, || {
        let key = KeyPair::generate(KeySize::Rsa2048).and_then(|key| AsDer::<Pkcs8V1Der<'_>>::as_der(&key));
        key.map(|der| der.as_ref().to_vec())
            .map_err(|_| ConfigError::new("The machine gave no random numbers for a key."))
    })?;
    KeyPair::from_pkcs8(&der).map_err(|_| {
        ConfigError::new(format!(
            "{} is not a key. Remove it, and a new one is made.",
            path.display()
        ))
    })
}

#[async_trait]
impl SigningKey for LocalSigningKey {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let key = self.key().await?;
        let mut signature = vec![0; key.public_modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
            .map_err(Error::internal)?;
        Ok(signature)
    }

    async fn public_key(&self) -> Result<Vec<u8>> {
        let der =
            AsDer::<PublicKeyX509Der<'_>>::as_der(self.key().await?.public_key()).map_err(Error::internal)?;
        Ok(der.as_ref().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use platform::ErrorKind;

    use super::*;

    #[tokio::test]
    async fn a_key_is_made_at_its_first_use_once() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let path = data.path("keys/service-signing.pkcs8");
        // Opened twice, as by two parts of a process.
        let one = LocalSigningKey::of_services(&data).unwrap();
        let other = LocalSigningKey::of_services(&data).unwrap();
        assert!(!path.exists());
        let (first, second) = tokio::join!(one.public_key(), other.public_key());
        assert_eq!(first.unwrap(), second.unwrap());
        let later = LocalSigningKey::of_services(&data).unwrap();
        assert_eq!(later.sign(b"m").await.unwrap(), one.sign(b"m").await.unwrap());
        let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        assert!(names.all(|name| !name.contains("draft")));
    }

    #[tokio::test]
    async fn a_key_that_cannot_be_written_is_a_503_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let key = LocalSigningKey::of_digests(&data).unwrap();
        let keys = data.path("keys");
        let aside = data.path("keys-aside");
        std::fs::rename(&keys, &aside).unwrap();
        let error = key.public_key().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        std::fs::rename(&aside, &keys).unwrap();
        key.public_key().await.unwrap();
    }
}
