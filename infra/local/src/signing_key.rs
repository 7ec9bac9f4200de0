//! Emulates the KMS keys that sign service tokens and the digests of the event log: RSA keys of the data
//! directory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use parking_lot::Mutex;
use platform::config::ConfigError;
use platform::signing::{EarlierKey, SigningKey, public_key_pem, public_keys};
use platform::{Error, Result, UtcTime};
use serde::{Deserialize, Serialize};

use crate::data_dir::{DataDir, read_or_make, write_whole};

/// Maximum number of replaced keys: a backup with a larger file of them is not restored.
const MAX_EARLIER: usize = 100;

/// Signs with a key in `keys` of a data directory. Making one takes a tenth of a second, so a missing key is
/// made at its first use. Another process may replace it: each use reads the file.
#[derive(Clone)]
pub struct LocalSigningKey {
    path: PathBuf,
    /// File with the public halves of the keys that it replaced.
    earlier: PathBuf,
    /// Key as last read.
    cache: Arc<Mutex<Option<KeyFile>>>,
}

#[derive(Clone)]
struct KeyFile {
    der: Vec<u8>,
    key: Arc<KeyPair>,
}

/// An earlier key in its file.
#[derive(Serialize, Deserialize)]
struct EarlierEntry {
    /// PEM of the public key.
    public_key: String,
    replaced_at: UtcTime,
}

impl LocalSigningKey {
    /// Opens the key of service tokens.
    pub fn of_services(data: &DataDir) -> Result<Self, ConfigError> {
        Self::open(data, "service-signing")
    }

    /// Opens the key of the event log's digests.
    pub fn of_digests(data: &DataDir) -> Result<Self, ConfigError> {
        Self::open(data, "digest-signing")
    }

    /// Reads the keys, where there are some.
    fn open(data: &DataDir, name: &str) -> Result<Self, ConfigError> {
        let path = data.path(&format!("keys/{name}.pkcs8"));
        let earlier = data.path(&format!("keys/{name}.earlier.json"));
        let file = path.exists().then(|| read(&path)).transpose()?;
        read_earlier(&earlier)?;
        Ok(Self {
            path,
            earlier,
            cache: Arc::new(Mutex::new(file)),
        })
    }

    /// Replaces the key by a new one at the time `now`, and keeps its public half. A process that dies
    /// meanwhile leaves the key as it was or as it will be, with its public half among the replaced ones or
    /// not: signatures hold in each case. Fails where the files cannot be written, and after 100 rotations.
    pub fn rotate(&self, now: UtcTime) -> Result<(), ConfigError> {
        // Two rotations at once would each keep the same key.
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let lock = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
        let _lock = lock.map_err(|error| {
            ConfigError::new(format!(
                "The folder {} cannot be locked: {error}.",
                folder.display()
            ))
        })?;
        let current =
            public_half(&read(&self.path)?.key).map_err(|error| ConfigError::new(error.to_string()))?;
        let current = public_key_pem(&current);
        let mut entries = read_earlier(&self.earlier)?;
        if entries.len() >= MAX_EARLIER {
            return Err(ConfigError::new(format!(
                "The key was replaced {MAX_EARLIER} times, and no more keys are kept. Remove keys that nothing was signed \
                 with from {}.",
                self.earlier.display()
            )));
        }
        let next = generate()?;
        // A rotation that died has kept it already.
        entries.retain(|key| key.public_key != current);
        entries.insert(
            0,
            EarlierEntry {
                public_key: current,
                replaced_at: now,
            },
        );
        let text = serde_json::to_vec(&entries).map_err(|error| ConfigError::new(error.to_string()))?;
        write_whole(&self.earlier, &text)?;
        write_whole(&self.path, &next)
    }

    /// 503 if the key cannot be read or written, such as on a full disk; the next use tries again.
    async fn key(&self) -> Result<Arc<KeyPair>> {
        let (path, cache) = (self.path.clone(), Arc::clone(&self.cache));
        blocking(move || {
            let der = read_or_make(&path, generate)?;
            let mut cache = cache.lock();
            if let Some(file) = cache.as_ref().filter(|file| file.der == der) {
                return Ok(Arc::clone(&file.key));
            }
            let file = parse(&path, der)?;
            let key = Arc::clone(&file.key);
            *cache = Some(file);
            Ok(key)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConfigError> + Send + 'static,
) -> Result<T> {
    let result = tokio::task::spawn_blocking(work).await;
    result
        .map_err(Error::internal)?
        .map_err(|cause| Error::unavailable(cause.to_string()))
}

/// Reads a key, and makes one where it is missing.
fn read(path: &Path) -> Result<KeyFile, ConfigError> {
    parse(path, read_or_make(path, generate)?)
}

fn parse(path: &Path, der: Vec<u8>) -> Result<KeyFile, ConfigError> {
    let key = KeyPair::from_pkcs8(&der).map_err(|_| {
        ConfigError::new(format!(
            "{} is not a key. Remove it, and a new one is made.",
            path.display()
        ))
    })?;
    Ok(KeyFile {
        der,
        key: Arc::new(key),
    })
}

/// Returns the PKCS #8 of a new key.
fn generate() -> Result<Vec<u8>, ConfigError> {
    let key = KeyPair::generate(KeySize::Rsa2048).and_then(|key| AsDer::<Pkcs8V1Der<'_>>::as_der(&key));
    key.map(|der| der.as_ref().to_vec())
        .map_err(|_| ConfigError::new("The machine gave no random numbers for a key."))
}

fn public_half(key: &KeyPair) -> Result<Vec<u8>> {
    let der = AsDer::<PublicKeyX509Der<'_>>::as_der(key.public_key()).map_err(Error::internal)?;
    Ok(der.as_ref().to_vec())
}

/// Reads the replaced keys, latest first; none where the key was never replaced.
fn read_earlier(path: &Path) -> Result<Vec<EarlierEntry>, ConfigError> {
    let unreadable = |cause: &dyn std::fmt::Display| {
        ConfigError::new(format!(
            "{} is not the list of replaced keys: {cause}. Take it from a backup.",
            path.display()
        ))
    };
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|cause| unreadable(&cause)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(unreadable(&cause)),
    }
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
        public_half(self.key().await?.as_ref())
    }

    async fn earlier_keys(&self) -> Result<Vec<EarlierKey>> {
        let path = self.earlier.clone();
        let entries = blocking(move || read_earlier(&path)).await?;
        let mut keys = Vec::new();
        for entry in entries {
            for public_key in public_keys(entry.public_key.as_bytes())? {
                keys.push(EarlierKey {
                    public_key,
                    replaced_at: Some(entry.replaced_at),
                });
            }
        }
        Ok(keys)
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

    fn at(time: &str) -> UtcTime {
        time.parse().unwrap()
    }

    #[tokio::test]
    async fn replaced_key_signs_no_more_and_stays_known() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        // The runner has opened it, and the operator's command replaces it.
        let running = LocalSigningKey::of_digests(&data).unwrap();
        let mut keys = vec![running.public_key().await.unwrap()];
        assert_eq!(running.earlier_keys().await.unwrap(), []);
        for hour in ["2026-11-24T10:00:00Z", "2026-11-24T11:00:00Z"] {
            LocalSigningKey::of_digests(&data)
                .unwrap()
                .rotate(at(hour))
                .unwrap();
            keys.insert(0, running.public_key().await.unwrap());
        }
        let earlier = running.earlier_keys().await.unwrap();
        let replaced: Vec<_> = earlier
            .into_iter()
            .map(|key| (key.public_key, key.replaced_at.unwrap()))
            .collect();
        assert_eq!(
            replaced,
            [
                (keys[1].clone(), at("2026-11-24T11:00:00Z")),
                (keys[2].clone(), at("2026-11-24T10:00:00Z"))
            ]
        );
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
        let files = std::fs::read_dir(data.path("keys")).unwrap();
        assert_eq!(files.count(), 2);
    }

    #[tokio::test]
    async fn rotation_that_was_cut_off_is_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let key = LocalSigningKey::of_services(&data).unwrap();
        let first = key.public_key().await.unwrap();
        let private = std::fs::read(data.path("keys/service-signing.pkcs8")).unwrap();
        key.rotate(at("2026-11-24T10:00:00Z")).unwrap();
        // The state after the first of its two writes.
        std::fs::write(data.path("keys/service-signing.pkcs8"), private).unwrap();
        let reopened = LocalSigningKey::of_services(&data).unwrap();
        assert_eq!(reopened.public_key().await.unwrap(), first);
        reopened.rotate(at("2026-11-24T11:00:00Z")).unwrap();
        let earlier = reopened.earlier_keys().await.unwrap();
        assert_eq!(earlier.len(), 1);
        assert_eq!(
            (&earlier[0].public_key, earlier[0].replaced_at),
            (&first, Some(at("2026-11-24T11:00:00Z")))
        );
    }
}
