//! Provides what all functions share: errors, identity, HTTP edges, records, queues and objects.

pub mod archive_hints;
pub mod auth;
pub mod batch;
pub mod bus;
pub mod clock;
mod compact_json;
pub mod config;
pub mod deployment;
pub mod error;
pub mod fair;
pub mod http;
pub mod ids;
pub mod javascript;
pub mod low_priority;
pub mod metrics;
pub mod objects;
pub mod outbound;
pub mod page_token;
pub mod queue;
pub mod races;
pub mod records;
pub mod sealing;
pub mod secrets;
pub mod signing;
pub mod telemetry;
pub mod tenant;

use std::sync::Arc;

pub use clock::{Clock, UtcTime};
pub use compact_json::compact_json;
pub use error::{Error, ErrorKind, Result};
pub use tenant::Tenant;

use auth::{Verifier, VerifierConfig};
use config::{ConfigError, EdgeConfig, variables};
use deployment::Deployment;
use fair::FairPermits;
use http::audit::AuditLog;
use records::Table;
use records::api_keys::ApiKeys;

/// Shared context of every HTTP function.
#[derive(Clone)]
pub struct Platform {
    pub clock: Clock,
    /// Verifies access tokens.
    pub verifier: Arc<Verifier>,
    pub api_keys: ApiKeys,
    pub records: Table,
    /// Audit trail, for writing.
    pub audit: AuditLog,
    pub edge: EdgeConfig,
    /// Permits that limit concurrent requests, in a process with many; each is held until its answer is
    /// received.
    pub requests: Option<FairPermits>,
}

impl Platform {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let environment = deployment.environment();
        let records = deployment.table(variables::RECORDS_TABLE)?;
        let clock = deployment.clock();
        let service_key = deployment.signing_key(variables::SERVICE_KEY)?;
        Ok(Self {
            verifier: Arc::new(Verifier::new(
                VerifierConfig::from_environment(environment)?,
                service_key,
                clock.clone(),
            )),
            clock,
            api_keys: ApiKeys::new(records.clone()),
            records,
            audit: AuditLog::from_deployment(deployment)?,
            edge: EdgeConfig::from_environment(environment)?,
            requests: None,
        })
    }
}
