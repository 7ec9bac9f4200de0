//! Serves the public ingest endpoint, `POST /webhooks/events/{account_id}/{project_id}/{channel_id}` below
//! the ingest base URL, where external systems push events through a channel.
//!
//! It is not part of the authenticated API: a channel has its own credentials.

mod credentials;
mod post;
mod rate;

use std::sync::Arc;

use aide::axum::ApiRouter;
use axum::Extension;
use events::publish::Publisher;
use events::records::channels::Channels;
use events::records::events::Events;
use events::records::ingest_counts::IngestCounts;
use platform::config::{ConfigError, Environment, variables};
use platform::deployment::Deployment;
use platform::http::BodyLimit;
use platform::sealing::{OpenedOnce, Sealer};
use platform::{Clock, Error};

pub use rate::ChannelRates;

/// Largest value that can be configured, in KiB: Lambda accepts 6 MB.
const MOST_BODY_KB: u64 = 5_000;

#[derive(Clone)]
pub struct Ingest {
    pub channels: Channels,
    /// Opens the channels' signing secrets.
    pub sealer: Arc<dyn Sealer>,
    pub publisher: Publisher,
    pub clock: Clock,
    pub rates: ChannelRates,
    /// Largest body, in bytes.
    pub max_body_bytes: usize,
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
        Ok(Self {
            rates: ChannelRates::from_environment(environment, counts, clock.clone())?,
            channels: Channels::new(records),
            sealer: Arc::new(OpenedOnce::new(sealer)),
            publisher: Publisher::new(Events::new(events), objects, bus),
            clock,
            max_body_bytes: max_body_bytes(environment)?,
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
    let limit = BodyLimit(ingest.max_body_bytes);
    ApiRouter::new()
        .api_route(
            "/webhooks/events/{account_id}/{project_id}/{channel_id}",
            post::route(),
        )
        .layer(Extension(limit))
        .with_state(ingest)
}

/// Exposes the handling of a body to the fuzzer.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::post::incoming;
}

/// Returns the one refusal for all faults of credentials.
fn refused() -> Error {
    Error::unauthenticated("The channel does not exist, or the token or signature is missing or wrong.")
}
