//! Secrets of the deployment, such as signing keys: given by value, or by name in AWS Secrets Manager.
//!
//! A named secret does not show in a function's configuration and rotates without a deployment. It is
//! fetched with its first use, because a fetch at start would lengthen every cold start.

use std::fmt;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::DisplayErrorContext;
use tokio::sync::Mutex;
use tracing::warn;

use crate::clock::{Clock, UtcTime};
use crate::config::{ConfigError, Environment, Secret};
use crate::error::{Error, Result};

/// How long a fetched secret is used, in milliseconds.
const FRESH_MS: u64 = 300_000;
/// Least time between two fetches for a text that no known version has signed, in milliseconds.
const RENEWAL_MS: u64 = 10_000;

/// The versions of a secret that are in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Signs and encrypts.
    pub current: Secret,
    /// The one before the last rotation. Only verifies.
    pub previous: Option<Secret>,
}

/// A secret, by value or by name.
#[derive(Clone)]
pub struct SecretSource(Arc<Source>);

enum Source {
    Given(Versions),
    Stored(Stored),
}

struct Stored {
    client: Client,
    name: String,
    clock: Clock,
    fetched: Mutex<Option<(UtcTime, Versions)>>,
}

impl SecretSource {
    /// By value.
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

    /// By name or ARN in Secrets Manager.
    pub fn stored(sdk: &SdkConfig, name: &str, clock: Clock) -> Self {
        Self(Arc::new(Source::Stored(Stored {
            client: Client::new(sdk),
            name: name.to_owned(),
            clock,
            fetched: Mutex::default(),
        })))
    }

    /// From the variable `value`, or from `name` with the name of the secret. None where both are missing.
    pub fn from_environment(
        environment: &Environment,
        sdk: &SdkConfig,
        value: &'static str,
        name: &'static str,
    ) -> Result<Option<Self>, ConfigError> {
        match (environment.optional(value), environment.optional(name)) {
            (Some(_), Some(_)) => Err(ConfigError::new(format!(
                "Both {value} and {name} are set. Set one of them."
            ))),
            (Some(value), None) => Ok(Some(Self::given(Secret::new(value)))),
            (None, Some(name)) => Ok(Some(Self::stored(sdk, name, Clock::System))),
            (None, None) => Ok(None),
        }
    }

    /// The value, where it was given by value.
    pub fn value(&self) -> Option<&Secret> {
        match self.0.as_ref() {
            Source::Given(versions) => Some(&versions.current),
            Source::Stored(_) => None,
        }
    }

    /// The versions in use, at most five minutes old. 503 where Secrets Manager does not answer and none is
    /// known.
    pub async fn versions(&self) -> Result<Versions> {
        self.fetched_within(FRESH_MS).await
    }

    /// The versions in use, at most ten seconds old: another instance may know of a rotation before this one.
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
        let versions = match (stored.fetch().await, fetched.as_ref()) {
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

impl Stored {
    async fn fetch(&self) -> Result<Versions> {
        let current = self.version("AWSCURRENT").await?;
        let previous = self.version("AWSPREVIOUS").await?;
        let current = current.ok_or_else(|| {
            Error::internal(format!(
                "the secret '{}' does not exist or has no text",
                self.name
            ))
        })?;
        Ok(Versions { current, previous })
    }

    /// None where the secret has no such version.
    async fn version(&self, stage: &str) -> Result<Option<Secret>> {
        let request = self.client.get_secret_value().secret_id(&self.name);
        match request.version_stage(stage).send().await {
            Ok(answer) => Ok(answer.secret_string.map(Secret::new)),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|error| error.is_resource_not_found_exception()) =>
            {
                Ok(None)
            }
            Err(error) => Err(Error::unavailable(DisplayErrorContext(error).to_string())),
        }
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

    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use serde_json::{Value, json};

    use super::*;
    use crate::aws::{Keys, sdk_config_for};

    /// A store of one secret: its versions, the newest first. Counts what it is asked.
    #[derive(Clone, Default)]
    struct Store(Arc<StdMutex<(Vec<&'static str>, usize)>>);

    impl Store {
        fn answer(&self, request: &str) -> (StatusCode, String) {
            let mut state = self.0.lock().unwrap();
            state.1 += 1;
            if state.0.is_empty() {
                return (StatusCode::INTERNAL_SERVER_ERROR, "{}".to_owned());
            }
            let request: Value = serde_json::from_str(request).unwrap();
            let place = usize::from(request["VersionStage"] == "AWSPREVIOUS");
            match state.0.get(place) {
                Some(secret) => (StatusCode::OK, json!({ "SecretString": secret }).to_string()),
                None => (
                    StatusCode::BAD_REQUEST,
                    json!({ "__type": "ResourceNotFoundException" }).to_string(),
                ),
            }
        }
    }

    async fn source(store: &Store, clock: Clock) -> SecretSource {
        let store = store.clone();
        let answer = move |body: String| async move { store.answer(&body) };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, Router::new().route("/", post(answer))).into_future());
        let sdk = sdk_config_for(&endpoint, Keys::shown(&Secret::new("s")));
        SecretSource::stored(&sdk, "page-tokens", clock)
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
        let store = Store::default();
        store.0.lock().unwrap().0 = vec!["one"];
        let source = source(&store, clock.clone()).await;
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
        store.0.lock().unwrap().0 = vec!["two", "one"];
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
        clock.advance_ms(ms(RENEWAL_MS));
        assert_eq!(source.renewed().await.unwrap(), versions("two", Some("one")));
        store.0.lock().unwrap().0 = vec!["three", "two"];
        clock.advance_ms(ms(FRESH_MS - 1));
        assert_eq!(source.versions().await.unwrap(), versions("two", Some("one")));
        clock.advance_ms(1);
        assert_eq!(source.versions().await.unwrap(), versions("three", Some("two")));
        assert_eq!(store.0.lock().unwrap().1, 6);
    }

    #[tokio::test]
    async fn known_versions_outlive_an_outage() {
        let clock = Clock::manual(UtcTime::EPOCH);
        let store = Store::default();
        let source = source(&store, clock.clone()).await;
        assert!(source.versions().await.is_err());
        store.0.lock().unwrap().0 = vec!["one"];
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
        store.0.lock().unwrap().0.clear();
        clock.advance_ms(ms(FRESH_MS));
        assert_eq!(source.versions().await.unwrap(), versions("one", None));
    }
}
