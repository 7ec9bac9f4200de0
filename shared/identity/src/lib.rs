//! Tells who is calling.
//!
//! A token of an identity provider is checked with the provider's keys, and its claims are read as the
//! settings of the provider say. A service token is of a workflow run, an API key has a record. Each becomes
//! a [`Principal`]; nothing after it knows where it came from.

pub mod api_key;
mod claims;
mod explain;
mod jwks;
mod memberships;
mod presets;
pub mod records;
pub mod service;
mod settings;
mod subject;
mod times;
mod verified;
mod verifier;

use std::sync::Arc;

use async_trait::async_trait;
use platform::auth::{Authenticator, Principal};
use platform::clock::Clock;
use platform::config::{ConfigError, Secret, variables};
use platform::deployment::Deployment;
use platform::error::{Error, Result};
use platform::http::API_KEY_PREFIX;
use platform::records::Table;
use platform::signing::SigningKey;

pub use explain::Explanation;
pub use settings::{Provider, names_provider, providers};
pub use subject::{MAX_USER_ID, check_user};

use memberships::{Memberships, choose, in_project};
use records::api_keys::ApiKeys;
use records::members::{Member, Members};
use verifier::{Bearer, Verifier};

/// Authenticates the callers of a deployment.
pub struct Identity {
    verifier: Verifier,
    keys: ApiKeys,
    memberships: Memberships,
    clock: Clock,
}

/// A caller, and where the caller may work.
pub struct Caller {
    /// In the chosen project; the refusal where the caller must choose one first.
    pub principal: Result<Principal>,
    /// Memberships of a user.
    pub members: Arc<[Member]>,
}

impl Identity {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let providers = providers(deployment.environment())?;
        let service_key = deployment.signing_key(variables::SERVICE_KEY)?;
        let records = deployment.table(variables::RECORDS_TABLE)?;
        Ok(Self::new(providers, service_key, records, deployment.clock()))
    }

    pub fn new(
        providers: Vec<Provider>,
        service_key: Arc<dyn SigningKey>,
        records: Table,
        clock: Clock,
    ) -> Self {
        Self {
            verifier: Verifier::new(providers, service_key, clock.clone()),
            keys: ApiKeys::new(records.clone()),
            memberships: Memberships::new(Members::new(records), clock.clone()),
            clock,
        }
    }

    /// Whether memberships count for any user of this deployment.
    pub fn has_memberships(&self) -> bool {
        let mut issuers = self.verifier.issuers().iter();
        issuers.any(|issuer| issuer.provider.memberships)
    }

    /// Returns the caller with a credential, also one who has no project yet. 401 for a credential that does
    /// not hold.
    pub async fn caller(&self, credential: &Secret, project: Option<&str>) -> Result<Caller> {
        let text = credential.expose();
        if text.starts_with(API_KEY_PREFIX) {
            let principal = api_key::verify(&self.keys, text, self.clock.now()).await?;
            return Ok(Caller::fixed(principal, project));
        }
        let subject = match self.verifier.verify(text).await? {
            Bearer::Run(principal) => return Ok(Caller::fixed(*principal, project)),
            Bearer::User(subject) => subject,
        };
        if self.verifier.has_memberships(&subject) {
            let members = self.memberships.of_user(&subject).await?;
            return Ok(Caller {
                principal: choose(&subject, &members, project),
                members,
            });
        }
        let principal = subject.principal();
        let principal = principal.ok_or_else(|| Error::internal("a token names no account"))?;
        Ok(Caller::fixed(principal, project))
    }
}

impl Caller {
    /// A caller without memberships.
    fn fixed(principal: Principal, project: Option<&str>) -> Self {
        Self {
            principal: in_project(principal, project),
            members: Arc::new([]),
        }
    }
}

#[async_trait]
impl Authenticator for Identity {
    async fn principal(&self, credential: &Secret, project: Option<&str>) -> Result<Principal> {
        self.caller(credential, project).await?.principal
    }
}
