//! Reads the public keys that verify access tokens from a file or a URL, and refreshes them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::RwLock;
use tokio::sync::Mutex;
use url::Url;

use platform::clock::{Clock, UtcTime};
use platform::config::ConfigError;
use platform::error::{Error, Result};
use platform::outbound::{OutboundError, Request, Reuse, Trusted};
use serde::Deserialize;

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
    /// Named by the discovery document of this issuer.
    Discovered {
        issuer: String,
        document: Url,
    },
}

/// What is read of a discovery document (OpenID Connect Discovery 1.0, 3).
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl JwksSource {
    /// Parses an https URL, an http URL of this machine, or the path of a file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        match text.contains("://") {
            true => address(text).map(Self::Url),
            false => Ok(Self::File(PathBuf::from(text))),
        }
    }

    /// Returns the keys that an issuer's discovery document names.
    pub fn discovered(issuer: &str) -> Result<Self, ConfigError> {
        let document = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        Ok(Self::Discovered {
            document: address(&document)?,
            issuer: issuer.to_owned(),
        })
    }
}

impl fmt::Display for JwksSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Url(url) => f.write_str(url.as_str()),
            Self::Discovered { document, .. } => write!(f, "the key set that {document} names"),
        }
    }
}

/// Parses an address of keys. A change of the answer on its way could add a key, so only https counts, or
/// this machine.
fn address(text: &str) -> Result<Url, ConfigError> {
    let refused = |reason: &str| ConfigError::new(format!("The address of keys '{text}' {reason}."));
    let url = Url::parse(text).map_err(|error| refused(&format!("is not a URL ({error})")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ConfigError::new(
            "The address of keys has a user name or password. Set it to a URL without.",
        ));
    }
    let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    if url.scheme() == "https" || (url.scheme() == "http" && loopback) {
        return Ok(url);
    }
    Err(refused("must begin with https://, or be the path of a file"))
}

/// A public key and the only algorithm that it is used with.
pub struct VerifyingKey {
    pub key: DecodingKey,
    /// Determined by the key, never by the token, so that a token cannot choose how it is checked.
    pub algorithm: Algorithm,
}

/// Keys with their ids, where they have one.
type Keys = Vec<(Option<String>, Arc<VerifyingKey>)>;

struct Loaded {
    keys: Keys,
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
        let mut attempts = match self.loading.try_lock() {
            Ok(attempts) => attempts,
            // While one request reads the keys again, the others go on with those that still count.
            Err(_) => match self
                .younger_than(MAX_AGE_MS)
                .and_then(|known| pick(&known, key_id))
            {
                Some(key) => return Ok(Some(key)),
                None => self.loading.lock().await,
            },
        };
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
            return Err(Error::unavailable(format!(
                "the keys at {} could not be read a moment ago",
                self.source
            )));
        }
        attempts.last_ms = Some(now_ms);
        let result = self.load(attempts.successes + 1).await;
        // Counted from the end of the attempt, which may have waited for a provider that does not answer.
        attempts.last_ms = Some(self.clock.now().as_millis());
        match result {
            Ok(loaded) => {
                attempts.successes += 1;
                Ok(pick(&loaded, key_id))
            }
            Err(cause) => {
                tracing::warn!(%cause, keys = %self.source, "the keys of an identity provider cannot be read");
                // Until they are too old, the known keys stay valid while the issuer is unreachable.
                let key = known.and_then(|known| pick(&known, key_id));
                key.map_or(Err(cause), |key| Ok(Some(key)))
            }
        }
    }

    /// Counts the successful reads. None before the first read, and when the keys are due to be read again.
    pub fn generation(&self) -> Option<u64> {
        self.younger_than(REFRESH_MS).map(|loaded| loaded.generation)
    }

    /// Returns the keys if they are not older than this. A clock that went back far makes them too old.
    fn younger_than(&self, age_ms: i64) -> Option<Arc<Loaded>> {
        let loaded = self.loaded.read().clone()?;
        let age = self.clock.now().as_millis().abs_diff(loaded.at.as_millis());
        (age < age_ms.unsigned_abs()).then_some(loaded)
    }

    /// Reads the keys now, and returns the number of those that can verify tokens. 503 if there is none.
    pub async fn check(&self) -> Result<usize> {
        match self.read().await?.len() {
            0 => Err(Error::unavailable(format!(
                "no key at {} can verify tokens",
                self.source
            ))),
            count => Ok(count),
        }
    }

    async fn load(&self, generation: u64) -> Result<Arc<Loaded>> {
        let loaded = Arc::new(Loaded {
            keys: self.read().await?,
            at: self.clock.now(),
            generation,
        });
        *self.loaded.write() = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    async fn read(&self) -> Result<Keys> {
        let text = match &self.source {
            JwksSource::File(path) => tokio::fs::read(path).await.map_err(|error| {
                Error::unavailable(format!("the key set {} cannot be read: {error}", path.display()))
            })?,
            JwksSource::Url(url) => self.fetch(url).await?,
            JwksSource::Discovered { issuer, document } => {
                let discovered = self.discover(issuer, document).await?;
                self.fetch(&discovered).await?
            }
        };
        let set: JwkSet = serde_json::from_slice(&text)
            .map_err(|error| Error::unavailable(format!("the key set is not a JWKS: {error}")))?;
        let keys = set.keys.iter().filter_map(|jwk| {
            let id = jwk.common.key_id.clone();
            verifying_key(jwk).map(|key| (id, Arc::new(key)))
        });
        Ok(keys.collect())
    }

    /// Returns where the issuer publishes its keys.
    async fn discover(&self, issuer: &str, document: &Url) -> Result<Url> {
        let broken = |reason: String| Error::unavailable(format!("the document {document} {reason}"));
        let text = self.fetch(document).await?;
        let discovery: Discovery = serde_json::from_slice(&text)
            .map_err(|error| broken(format!("is not one of an OpenID provider: {error}")))?;
        // OpenID Connect Discovery 1.0, 4.3: else another provider could answer for this one.
        if discovery.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(broken(format!("is of the issuer '{}'", discovery.issuer)));
        }
        address(&discovery.jwks_uri).map_err(|error| broken(format!("names no usable keys: {error}")))
    }

    async fn fetch(&self, url: &Url) -> Result<Vec<u8>> {
        let fetched = async {
            let request = Request::get(url.as_str(), MAX_BYTES, DEADLINE);
            self.client.send(request).await?.success()?.whole().await
        };
        fetched.await.map_err(|error: OutboundError| {
            let cause = error.cause().unwrap_or_default();
            Error::unavailable(format!("{url} cannot be read: {error}; {cause}"))
        })
    }
}

/// Returns the key with an id; else the only key, if it or the token has no id.
fn pick(loaded: &Loaded, key_id: Option<&str>) -> Option<Arc<VerifyingKey>> {
    let mut keys = loaded.keys.iter();
    if let Some((_, key)) = keys.find(|(id, _)| key_id.is_some() && id.as_deref() == key_id) {
        return Some(Arc::clone(key));
    }
    match loaded.keys.as_slice() {
        [(id, key)] if id.is_none() || key_id.is_none() => Some(Arc::clone(key)),
        _ => None,
    }
}

/// Uses the algorithm that a key names, or the usual one of its type; ignores keys of other types, and those
/// for encryption.
fn verifying_key(jwk: &Jwk) -> Option<VerifyingKey> {
    use KeyAlgorithm as Named;

    if jwk.common.public_key_use == Some(PublicKeyUse::Encryption) {
        return None;
    }
    let named = jwk.common.key_algorithm;
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => match named {
            None | Some(Named::RS256) => Algorithm::RS256,
            Some(Named::RS384) => Algorithm::RS384,
            Some(Named::RS512) => Algorithm::RS512,
            Some(Named::PS256) => Algorithm::PS256,
            Some(Named::PS384) => Algorithm::PS384,
            Some(Named::PS512) => Algorithm::PS512,
            Some(_) => return None,
        },
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => Algorithm::ES256,
            EllipticCurve::P384 => Algorithm::ES384,
            _ => return None,
        },
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
