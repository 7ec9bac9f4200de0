//! Reads the public keys that verify access tokens from a file or a URL, and refreshes them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::RwLock;
use tokio::sync::Mutex;
use url::Url;

use crate::clock::{Clock, UtcTime};
use crate::config::ConfigError;
use crate::error::{Error, Result};
use crate::outbound::{OutboundError, Request, Reuse, Trusted};

/// Age from which the keys are read again.
const REFRESH_MS: i64 = 5 * 60 * 1_000;
/// Maximum age of the keys: older ones are not used, so that a withdrawn key stops being accepted even where
/// the key set cannot be read. The holder of a stolen key may also be able to keep the set from being read.
const MAX_AGE_MS: i64 = 10 * 60 * 1_000;
/// Minimum time between two reads. A token with an unknown key id triggers a read, but not more often than
/// this.
const MIN_AGE_MS: i64 = 30 * 1_000;
/// Minimum time between two attempts while no key is known, so that requests do not wait for one attempt
/// each.
const FAILURE_PAUSE_MS: i64 = 1_000;
/// Maximum size of a key set.
const MAX_BYTES: u64 = 512 * 1_024;
/// Time limit of a read from a URL.
const DEADLINE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub enum JwksSource {
    File(PathBuf),
    /// https, or http to a loopback address.
    Url(Url),
}

impl JwksSource {
    /// Parses the value of `MILLRACE_JWKS`.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        if !text.contains("://") {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let url = Url::parse(text).map_err(|error| {
            ConfigError::new(format!(
                "MILLRACE_JWKS is not a URL ({error}). Set it to an https URL."
            ))
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ConfigError::new(
                "MILLRACE_JWKS has a user name or password. Set it to a URL without.",
            ));
        }
        let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if url.scheme() == "https" || (url.scheme() == "http" && loopback) {
            return Ok(Self::Url(url));
        }
        Err(ConfigError::new(
            "MILLRACE_JWKS must be an https URL or the path of a file.",
        ))
    }
}

/// A public key and the only algorithm that it is used with.
pub struct VerifyingKey {
    pub key: DecodingKey,
    /// Determined by the key, never by the token, so that a token cannot choose how it is checked.
    pub algorithm: Algorithm,
}

struct Loaded {
    keys: HashMap<String, Arc<VerifyingKey>>,
    at: UtcTime,
    generation: u64,
}

#[derive(Default)]
struct Attempts {
    successes: u64,
    last_ms: Option<i64>,
}

/// Key set, read at its first use.
pub struct Jwks {
    source: JwksSource,
    client: Trusted,
    clock: Clock,
    loaded: RwLock<Option<Arc<Loaded>>>,
    /// Held while the keys are being read.
    loading: Mutex<Attempts>,
}

impl Jwks {
    pub fn new(source: JwksSource, clock: Clock) -> Self {
        Self {
            source,
            client: Trusted::new(DEADLINE, Reuse::Never),
            clock,
            loaded: RwLock::new(None),
            loading: Mutex::default(),
        }
    }

    /// Returns the key with this id, or None. For a token without a key id it returns the only key of a
    /// one-key set.
    pub async fn find(&self, key_id: Option<&str>) -> Result<Option<Arc<VerifyingKey>>> {
        if let Some(loaded) = self.younger_than(REFRESH_MS)
            && let Some(key) = pick(&loaded, key_id)
        {
            return Ok(Some(key));
        }
        let mut attempts = self.loading.lock().await;
        let now_ms = self.clock.now().as_millis();
        let tried_lately = attempts.last_ms.is_some_and(|last| now_ms - last < MIN_AGE_MS);
        let known = self.younger_than(MAX_AGE_MS);
        if let Some(known) = known.as_ref().filter(|_| tried_lately) {
            return Ok(pick(known, key_id));
        }
        // A clock that went back must not prolong the pause.
        let failed_lately = attempts
            .last_ms
            .is_some_and(|last| (0..FAILURE_PAUSE_MS).contains(&(now_ms - last)));
        if known.is_none() && failed_lately {
            return Err(Error::unavailable("the key set could not be read a moment ago"));
        }
        attempts.last_ms = Some(now_ms);
        match self.load(attempts.successes + 1).await {
            Ok(loaded) => {
                attempts.successes += 1;
                Ok(pick(&loaded, key_id))
            }
            // Until they are too old, the known keys stay valid while the issuer is unreachable.
            Err(cause) => match known.and_then(|known| pick(&known, key_id)) {
                Some(key) => {
                    tracing::warn!(%cause, "the key set could not be read again");
                    Ok(Some(key))
                }
                None => Err(cause),
            },
        }
    }

    /// Counts the successful reads. None before the first read, and when the keys are due to be read again.
    pub(super) fn generation(&self) -> Option<u64> {
        self.younger_than(REFRESH_MS).map(|loaded| loaded.generation)
    }

    /// Returns the keys if they are not older than this. A clock that went back far makes them too old.
    fn younger_than(&self, age_ms: i64) -> Option<Arc<Loaded>> {
        let loaded = self.loaded.read().clone()?;
        let age = self.clock.now().as_millis().abs_diff(loaded.at.as_millis());
        (age < age_ms.unsigned_abs()).then_some(loaded)
    }

    async fn load(&self, generation: u64) -> Result<Arc<Loaded>> {
        let text = match &self.source {
            JwksSource::File(path) => tokio::fs::read(path).await.map_err(|error| {
                Error::unavailable(format!("the key set {} cannot be read: {error}", path.display()))
            })?,
            JwksSource::Url(url) => self.fetch(url).await?,
        };
        let set: JwkSet = serde_json::from_slice(&text)
            .map_err(|error| Error::unavailable(format!("the key set is not a JWKS: {error}")))?;
        let keys = set.keys.iter().filter_map(|jwk| {
            let id = jwk.common.key_id.clone().unwrap_or_default();
            verifying_key(jwk).map(|key| (id, Arc::new(key)))
        });
        let loaded = Arc::new(Loaded {
            keys: keys.collect(),
            at: self.clock.now(),
            generation,
        });
        *self.loaded.write() = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    async fn fetch(&self, url: &Url) -> Result<Vec<u8>> {
        let fetched = async {
            let request = Request::get(url.as_str(), MAX_BYTES, DEADLINE);
            self.client.send(request).await?.success()?.whole().await
        };
        fetched.await.map_err(|error: OutboundError| {
            let cause = error.cause().unwrap_or_default();
            Error::unavailable(format!("the key set cannot be read: {error}; {cause}"))
        })
    }
}

fn pick(loaded: &Loaded, key_id: Option<&str>) -> Option<Arc<VerifyingKey>> {
    match key_id {
        Some(id) => loaded.keys.get(id).cloned(),
        None if loaded.keys.len() == 1 => loaded.keys.values().next().cloned(),
        None => None,
    }
}

/// Uses RS256 for RSA keys, ES256 for P-256 keys and EdDSA for Ed25519 keys; ignores all other keys.
fn verifying_key(jwk: &Jwk) -> Option<VerifyingKey> {
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        _ => return None,
    };
    DecodingKey::from_jwk(jwk)
        .ok()
        .map(|key| VerifyingKey { key, algorithm })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_files_and_this_machine_are_sources() {
        assert!(matches!(
            JwksSource::parse("keys/jwks.json"),
            Ok(JwksSource::File(_))
        ));
        assert!(matches!(
            JwksSource::parse("https://id.example.com/jwks"),
            Ok(JwksSource::Url(_))
        ));
        assert!(matches!(
            JwksSource::parse("http://127.0.0.1:9/jwks"),
            Ok(JwksSource::Url(_))
        ));
        assert!(JwksSource::parse("http://id.example.com/jwks").is_err());
        assert!(JwksSource::parse("ftp://id.example.com/jwks").is_err());
        assert!(JwksSource::parse("https://reader:hunter2@id.example.com/jwks").is_err());
    }
}
