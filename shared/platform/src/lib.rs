//! What every function shares: errors, identity, HTTP edges, records, queues and objects.

pub mod api;
pub mod archive_hints;
pub mod auth;
pub mod batch;
pub mod bus;
pub mod clock;
pub mod config;
pub mod deployment;
pub mod error;
pub mod fair;
pub mod http;
pub mod ids;
pub mod metrics;
pub mod objects;
pub mod outbound;
pub mod page_token;
pub mod queue;
pub mod records;
pub mod sealing;
pub mod secrets;
pub mod signing;
pub mod sources;
pub mod telemetry;
pub mod tenant;

use std::sync::Arc;

pub use clock::{Clock, UtcTime};
pub use error::{Error, ErrorKind, Result};
pub use tenant::Tenant;

use archive_hints::ArchiveHints;
use auth::{Verifier, VerifierConfig};
use config::{ConfigError, EdgeConfig};
use deployment::Deployment;
use fair::FairPermits;
use http::audit::AuditLog;
use records::Table;
use records::api_keys::ApiKeys;
use records::audit::AuditTrail;

/// What every HTTP function has: the time, who may call, the records and the audit trail.
#[derive(Clone)]
pub struct Platform {
    /// The time.
    pub clock: Clock,
    /// Access tokens.
    pub verifier: Arc<Verifier>,
    /// API keys.
    pub api_keys: ApiKeys,
    /// The table of records.
    pub records: Table,
    /// The audit trail, to write.
    pub audit: AuditLog,
    /// Hints at logs with new records, for the archiver.
    pub archive_hints: ArchiveHints,
    /// The edge around the routes.
    pub edge: EdgeConfig,
    /// Requests at a time, where a process has many: each until its answer is taken.
    pub requests: Option<FairPermits>,
}

impl Platform {
    /// Of a deployed function.
    pub fn of(deployment: &Deployment) -> Result<Self, ConfigError> {
        let environment = deployment.environment();
        let records = deployment.table("MILLRACE_RECORDS_TABLE")?;
        let trail = AuditTrail::new(deployment.table("MILLRACE_AUDIT_TABLE")?);
        let retry = deployment.queue("MILLRACE_AUDIT_RETRY_QUEUE")?;
        let hints = ArchiveHints::new(deployment.queue("MILLRACE_ARCHIVE_QUEUE")?);
        let clock = Clock::System;
        let service_key = deployment.signing_key("MILLRACE_SERVICE_KEY")?;
        Ok(Self {
            verifier: Arc::new(Verifier::new(
                VerifierConfig::from_environment(environment)?,
                service_key,
                clock.clone(),
            )),
            clock,
            api_keys: ApiKeys::new(records.clone()),
            records,
            audit: AuditLog::new(trail, retry).hinting(hints.clone()),
            archive_hints: hints,
            edge: EdgeConfig::from_environment(environment)?,
            requests: None,
        })
    }
}
