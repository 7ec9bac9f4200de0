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
pub mod stored_json;
pub mod telemetry;
pub mod tenant;
pub mod trace;

use std::sync::Arc;

pub use clock::{Clock, UtcTime};
pub use compact_json::compact_json;
pub use error::{Error, ErrorKind, Result};
pub use tenant::Tenant;

use auth::Authenticator;
use config::{ConfigError, EdgeConfig, variables};
use deployment::Deployment;
use fair::FairPermits;
use http::audit::AuditLog;
use records::Table;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Shared context of every HTTP function.
#[derive(Clone)]
pub struct Platform {
    pub clock: Clock,
    /// Tells who is calling.
    pub authenticator: Arc<dyn Authenticator>,
    pub records: Table,
    /// Audit trail, for writing.
    pub audit: AuditLog,
    pub edge: EdgeConfig,
    /// Permits that limit concurrent requests, in a process with many; each is held until its answer is
    /// received.
    pub requests: Option<FairPermits>,
}

impl Platform {
    pub fn from_deployment(
        deployment: &Deployment,
        authenticator: Arc<dyn Authenticator>,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            clock: deployment.clock(),
            authenticator,
            records: deployment.table(variables::RECORDS_TABLE)?,
            audit: AuditLog::from_deployment(deployment)?,
            edge: EdgeConfig::from_environment(deployment.environment())?,
            requests: None,
        })
    }
}
