//! Provides secrets of the deployment, such as signing keys, given by value or by name in a [`SecretStore`].
//!
//! A named secret is not visible in a function's configuration and rotates without a deployment. It is
//! fetched at its first use, because a fetch at start would lengthen every cold start.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use tracing::warn;

use crate::clock::{Clock, UtcTime};
use crate::config::variables::Variable;
use crate::config::{ConfigError, Environment, Secret};
use crate::error::Result;

/// How long a fetched secret is used, in milliseconds.
const FRESH_MS: u64 = 300_000;
/// Minimum time between two fetches that are caused by an unknown signature, in milliseconds.
const RENEWAL_MS: u64 = 10_000;

/// Versions of a secret that are in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Signs and encrypts.
    pub current: Secret,
    /// The version before the last rotation. Only verifies.
    pub previous: Option<Secret>,
}

#[async_trait]
pub trait SecretStore: Send + Sync {
    /// Returns the versions of a secret in use. 500 if the secret does not exist, or is not a text.
    async fn versions(&self, name: &str) -> Result<Versions>;
}

/// Returns the stored form of a secret that is only compared: its SHA-256 in lower-case hex. A fast hash is
/// enough, because such a secret is long and random.
pub fn secret_hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

#[derive(Clone)]
pub struct SecretSource(Arc<Source>);

enum Source {
    Given(Versions),
    Stored(Stored),
}

struct Stored {
    store: Arc<dyn SecretStore>,
    name: String,
    clock: Clock,
    fetched: Mutex<Option<(UtcTime, Versions)>>,
}

impl SecretSource {
    pub fn given(value: Secret) -> Self {
        Self(Arc::new(Source::Given(Versions {
            current: value,
            previous: None,
        })))
    }

    #[cfg(test)]
    pub(crate) fn rotated(current: Secret, previous: Secret) -> Self {
        Self(Arc::new(Source::Given(Versions {
            current,
            previous: Some(previous),
        })))
    }

    /// Reads the secret of this name from a store, at its first use.
    pub fn stored(store: Arc<dyn SecretStore>, name: &str, clock: Clock) -> Self {
        Self(Arc::new(Source::Stored(Stored {
            store,
            name: name.to_owned(),
            clock,
            fetched: Mutex::default(),
        })))
    }

    /// Uses the variable `value`, or the secret named in the variable `name`. None if both are missing. A
    /// program that is built without AWS has no store, and refuses a name.
    pub fn from_environment(
        environment: &Environment,
        store: Option<&Arc<dyn SecretStore>>,
        value: Variable,
        name: Variable,
    ) -> Result<Option<Self>, ConfigError> {
        match (environment.optional(value), environment.optional(name)) {
            (Some(_), Some(_)) => Err(ConfigError::new(format!(
                "Both {value} and {name} are set. Set one of them."
            ))),
            (Some(value), None) => Ok(Some(Self::given(Secret::new(value)))),
            (None, Some(secret)) => match store {
                Some(store) => Ok(Some(Self::stored(Arc::clone(store), secret, Clock::System))),
                None => Err(ConfigError::without_aws(name, secret)),
            },
            (None, None) => Ok(None),
        }
    }

    /// Returns the value, if it was given by value.
    pub fn value(&self) -> Option<&Secret> {
        match self.0.as_ref() {
            Source::Given(versions) => Some(&versions.current),
            Source::Stored(_) => None,
        }
    }

    /// Returns the versions in use, read at most five minutes ago, or the known ones while the store does not
    /// answer. 503 if no version is known.
    pub async fn versions(&self) -> Result<Versions> {
        self.fetched_within(FRESH_MS).await
    }

    /// Returns the versions in use, at most ten seconds old: another instance may see a rotation before this
    /// one.
    pub async fn renewed(&self) -> Result<Versions> {
        self.fetched_within(RENEWAL_MS).await
    }

    async fn fetched_within(&self, max_age_ms: u64) -> Result<Versions> {
        let stored = match self.0.as_ref() {
            Source::Given(versions) => return Ok(versions.clone()),
            Source::Stored(stored) => stored,
        };
        let mut fetched = stored.fetched.lock().await;
        let now = stored.clock.now();
        if let Some((at, versions)) = fetched.as_ref()
            && now.millis_since(*at) < max_age_ms
        {
            return Ok(versions.clone());
        }
        let versions = match (stored.store.versions(&stored.name).await, fetched.as_ref()) {
            (Ok(versions), _) => versions,
            (Err(cause), Some((_, known))) => {
                warn!(secret = stored.name, %cause, "secret not fetched again; the known versions are used");
                known.clone()
            }
            (Err(cause), None) => return Err(cause),
        };
        *fetched = Some((now, versions.clone()));
        Ok(versions)
    }
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_ref() {
            Source::Given(_) => f.write_str("SecretSource(given)"),
            Source::Stored(stored) => write!(f, "SecretSource({})", stored.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as StdMutex;

    use super::*;
    use crate::config::variables;
    use crate::error::Error;

    /// A store with one secret, which counts its calls.
    #[derive(Default)]
    struct Store(StdMutex<(Option<Versions>, usize)>);

    impl Store {
        fn set(&self, versions: Option<Versions>) {
            self.0.lock().unwrap().0 = versions;
        }

        fn asked(&self) -> usize {
            self.0.lock().unwrap().1
        }
    }

    #[async_trait]
    impl SecretStore for Store {
        async fn versions(&self, _: &str) -> Result<Versions> {
            let mut state = self.0.lock().unwrap();
            state.1 += 1;
            state.0.clone().ok_or_else(|| Error::unavailable("no answer"))
        }
    }

    fn source(store: &Arc<Store>, clock: Clock) -> SecretSource {
        SecretSource::stored(Arc::clone(store) as Arc<dyn SecretStore>, "page-tokens", clock)
    }

    fn ms(millis: u64) -> i64 {
        millis.try_into().unwrap()
    }

    fn versions(current: &str, previous: Option<&str>) -> Versions {
        Versions {
            current: Secret::new(current),
            previous: previous.map(Secret::new),
        }
    }

    #[tokio::test]
    async fn a_rotation_is_seen_after_five_minutes_and_sooner_on_demand() {
        let clock = Clock::manual(UtcTime::EPOCH);
        let store = Arc::new(Store::default());
        store.set(Some(versions("one", None)));
        let source = source(&store, clock.clone());
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
        store.set(Some(versions("two", Some("one"))));
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
        clock.advance_ms(ms(RENEWAL_MS));
        assert_eq!(source.renewed().await.unwrap(), versions("two", Some("one")));
        store.set(Some(versions("three", Some("two"))));
        clock.advance_ms(ms(FRESH_MS - 1));
        assert_eq!(source.versions().await.unwrap(), versions("two", Some("one")));
        clock.advance_ms(1);
        assert_eq!(source.versions().await.unwrap(), versions("three", Some("two")));
        assert_eq!(store.asked(), 3);
    }

    #[tokio::test]
    async fn known_versions_outlive_an_outage() {
        let clock = Clock::manual(UtcTime::EPOCH);
        let store = Arc::new(Store::default());
        let source = source(&store, clock.clone());
        assert!(source.versions().await.is_err());
        store.set(Some(versions("one", None)));
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
        store.set(None);
        clock.advance_ms(ms(FRESH_MS));
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
    }

    #[test]
    fn named_secret_without_aws_is_refused_with_what_to_do() {
        let (value, name) = (variables::GCS_CREDENTIALS, variables::GCS_CREDENTIALS_SECRET);
        let environment = Environment::from_variables([(name.name.to_owned(), "google".to_owned())]).unwrap();
        let refusal = SecretSource::from_environment(&environment, None, value, name).unwrap_err();
        insta::assert_snapshot!(refusal, @"The variable MILLRACE_GCS_CREDENTIALS_SECRET is 'google', and this program is built without AWS; build it with AWS=yes, as in `make run AWS=yes`.");
    }
}
