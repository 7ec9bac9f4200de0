//! Builds an identity over settings, with a manual clock and records in a temporary folder.

use std::sync::Arc;

use async_trait::async_trait;
use embedded::sqlite::SqliteRecords;
use identity::records::api_keys::ApiKeys;
use identity::records::members::Members;
use identity::{Identity, providers};
use platform::auth::{Authenticator as _, Principal};
use platform::config::variables::Variable;
use platform::config::{Environment, Secret};
use platform::records::Table;
use platform::records::schema::TableKind;
use platform::signing::SigningKey;
use platform::{Clock, Error, Result, UtcTime};

/// For tests without service tokens.
pub struct NoServiceKey;

#[async_trait]
impl SigningKey for NoServiceKey {
    async fn sign(&self, _: &[u8]) -> Result<Vec<u8>> {
        Err(Error::unavailable("no key"))
    }

    async fn public_key(&self) -> Result<Vec<u8>> {
        Err(Error::unavailable("no key"))
    }
}

pub fn start() -> UtcTime {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

pub struct Setup {
    _folder: tempfile::TempDir,
    pub clock: Clock,
    pub identity: Identity,
    pub keys: ApiKeys,
    pub members: Members,
}

impl Setup {
    /// Reads the settings as a deployment does.
    pub fn new(settings: &[(Variable, &str)], service_key: Arc<dyn SigningKey>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings
            .iter()
            .map(|(variable, value)| (*variable, (*value).to_owned()));
        let providers = providers(&Environment::from_variables([]).unwrap().with(settings)).unwrap();
        let file = folder.path().join("records");
        let records = SqliteRecords::open(&file, &[("records", TableKind::Records)]).unwrap();
        let records = Table::new(Arc::new(records), "records");
        let clock = Clock::manual(start());
        Self {
            identity: Identity::new(providers, service_key, records.clone(), clock.clone()),
            keys: ApiKeys::new(records.clone()),
            members: Members::new(records),
            clock,
            _folder: folder,
        }
    }

    pub async fn verify(&self, credential: &str) -> Result<Principal> {
        self.verify_in(credential, None).await
    }

    /// Verifies a credential of a request that names a project.
    pub async fn verify_in(&self, credential: &str, project: Option<&str>) -> Result<Principal> {
        self.identity.principal(&Secret::new(credential), project).await
    }

    /// Returns the reason why a credential is refused with this status.
    pub async fn refusal(&self, credential: &str, project: Option<&str>, status: u16) -> String {
        let error = self.verify_in(credential, project).await.unwrap_err();
        assert_eq!(error.status(), status, "{error}");
        error.message().to_owned()
    }
}
