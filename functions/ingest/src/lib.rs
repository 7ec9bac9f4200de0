//! Serves the public ingest endpoint, `/webhooks/events/{account_id}/{project_id}/{channel_id}` below the
//! ingest base URL, where external systems push events through a channel, and ask whether its URL wants them.
//!
//! It is not part of the authenticated API: a channel has its own credentials.

mod certificates;
mod credentials;
mod handshakes;
mod rate;
mod receive;
mod refusal_log;

use std::sync::Arc;

use aide::axum::ApiRouter;
use axum::Extension;
use events::publish::Publisher;
use events::records::channels::Channels;
use events::records::events::Events;
use events::records::ingest_counts::IngestCounts;
use events::records::refusals::Refusals;
use platform::config::{ConfigError, Environment, variables};
use platform::deployment::Deployment;
use platform::http::BodyLimit;
use platform::outbound::Outbound;
use platform::sealing::{OpenedOnce, Sealer};
use platform::{Clock, Error};

pub use certificates::Certificates;
pub use rate::ChannelRates;
pub use refusal_log::RefusalLog;

/// Largest body of a channel that sets its own limit, in KiB.
pub const MAX_CHANNEL_BODY_KB: u64 = 1_024;
/// Largest value that can be configured, in KiB: Lambda accepts 6 MB.
const MOST_BODY_KB: u64 = 5_000;

#[derive(Clone)]
pub struct Ingest {
    pub channels: Channels,
    /// Opens the channels' signing secrets, and seals those that handshakes bring.
    pub sealer: Arc<dyn Sealer>,
    pub publisher: Publisher,
    pub clock: Clock,
    pub rates: ChannelRates,
    /// Largest body of a channel without a limit of its own, in bytes.
    pub max_body_bytes: usize,
    /// Base of the URLs that senders have; None where that of the request is theirs.
    pub base_url: Option<String>,
    pub outbound: Outbound,
    pub certificates: Certificates,
    pub refusal_log: RefusalLog,
}

impl Ingest {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let environment = deployment.environment();
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let records = deployment.table(variables::RECORDS_TABLE)?;
        let objects = deployment.bucket(variables::DATA_BUCKET)?;
        let bus = deployment.bus(variables::EVENT_BUS)?;
        let sealer = deployment.sealer(variables::SEALING_KEY)?;
        let (counts, clock) = (IngestCounts::new(events.clone()), deployment.clock());
        let outbound = Outbound::from_deployment(deployment)?;
        Ok(Self {
            rates: ChannelRates::from_environment(environment, counts, clock.clone())?,
            channels: Channels::new(records),
            sealer: Arc::new(OpenedOnce::new(sealer)),
            publisher: Publisher::new(Events::new(events.clone()), objects, bus),
            clock,
            max_body_bytes: max_body_bytes(environment)?,
            base_url: environment.optional(variables::INGEST_URL).map(str::to_owned),
            certificates: Certificates::new(outbound.clone()),
            outbound,
            refusal_log: RefusalLog::new(Refusals::new(events)),
        })
    }
}

/// Reads the largest body, in bytes, from `MILLRACE_INGEST_MAX_BODY_KB`.
fn max_body_bytes(environment: &Environment) -> Result<usize, ConfigError> {
    let limit_kb = environment.number(variables::INGEST_MAX_BODY_KB)?;
    match usize::try_from(limit_kb) {
        Ok(kb) if (1..=MOST_BODY_KB).contains(&limit_kb) => Ok(kb * 1_024),
        _ => Err(ConfigError::new(format!(
            "The variable MILLRACE_INGEST_MAX_BODY_KB is '{limit_kb}'. Set it to a number from 1 to {MOST_BODY_KB}."
        ))),
    }
}

/// Returns the route relative to the ingest base URL.
pub fn routes(ingest: Ingest) -> ApiRouter {
    let max_channel_bytes = usize::try_from(MAX_CHANNEL_BODY_KB * 1_024).unwrap_or(usize::MAX);
    let limit = BodyLimit(ingest.max_body_bytes.max(max_channel_bytes));
    ApiRouter::new()
        .api_route(
            "/webhooks/events/{account_id}/{project_id}/{channel_id}",
            receive::route(),
        )
        .layer(Extension(limit))
        .with_state(ingest)
}

/// Returns the one refusal for all faults of credentials.
fn refused() -> Error {
    Error::unauthenticated("The channel does not exist, or the token or signature is missing or wrong.")
}
