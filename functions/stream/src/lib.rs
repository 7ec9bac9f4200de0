//! Streams a run's update messages as server-sent events, for as long as the run is open and the caller
//! listens.
//!
//! It is a function of its own because its answers are streams, and because an invocation lasts as long as
//! the caller listens.

mod access;
mod follow;
mod frame;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use platform::Platform;
use platform::config::ConfigError;
use platform::deployment::Deployment;
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS};
use platform::http::{Credentials, authenticate};
use workflow::engine::Engine;
use workflow::live::Followers;
use workflow::records::Runs;
use workflow::wiring::Wiring;

/// Pauses between two looks at the records, where this process is not notified of changes.
const POLLS: Polls = Polls {
    shortest: Duration::from_millis(200),
    longest: Duration::from_secs(1),
    state: Duration::from_secs(2),
};
/// Lifetime of a deployed stream. The function is not stopped when a caller disconnects and costs money until
/// it ends. A client reconnects and continues where it was.
const LIFETIME: Duration = Duration::from_secs(110);
/// Pauses where this process is notified of changes: a look then finds only the changes of other processes.
const POLLS_TOLD: Polls = Polls {
    shortest: Duration::from_secs(60),
    longest: Duration::from_secs(60),
    state: Duration::ZERO,
};
/// Maximum number of concurrent streams of a process; one account gets at most half.
const MAX_STREAMS: usize = 2_000;

/// How often a stream looks at the records of its run.
#[derive(Clone, Copy, Debug)]
struct Polls {
    /// Pause after a message.
    shortest: Duration,
    /// Longest pause without a message: each pause is twice the previous one.
    longest: Duration,
    /// Pause between two reads of the state, unless a message came. The state, which shows the end of a run,
    /// can have 400 KB; the head of the messages has less than 1 KB.
    state: Duration,
}

#[derive(Clone)]
pub struct Stream {
    engine: Engine,
    runs: Runs,
    /// Notifies of changes, where a writer in this process reports them.
    followers: Option<Arc<Followers>>,
    polls: Polls,
    /// Lifetime of one answer; None means no limit.
    lifetime: Option<Duration>,
    permits: FairPermits,
}

impl Stream {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let wiring = Wiring::from_deployment(deployment)?;
        let engine = wiring.engine(workflow::Registry::new())?;
        Ok(Self::polling(engine, wiring.runs))
    }

    /// For a process without notifications of changes.
    pub fn polling(engine: Engine, runs: Runs) -> Self {
        Self {
            engine,
            runs,
            followers: None,
            polls: POLLS,
            lifetime: Some(LIFETIME),
            permits: FairPermits::new(MAX_STREAMS, MAX_WAITING_REQUESTS),
        }
    }

    /// For a process with notifications of changes.
    pub fn told(engine: Engine, runs: Runs, followers: Arc<Followers>) -> Self {
        Self {
            engine,
            runs,
            followers: Some(followers),
            polls: POLLS_TOLD,
            lifetime: None,
            permits: FairPermits::new(MAX_STREAMS, MAX_WAITING_REQUESTS),
        }
    }
}

#[derive(Clone)]
pub struct App {
    platform: Platform,
    stream: Stream,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the route relative to the API root.
pub fn routes(platform: Platform, stream: Stream) -> ApiRouter {
    let app = App {
        platform: platform.clone(),
        stream,
    };
    ApiRouter::new()
        .api_route("/workflows/runs/{workflow_id}/{run_id}/stream", stream::route())
        .layer(from_fn_with_state(
            (platform, Credentials::HeadersOrQuery),
            authenticate,
        ))
        .with_state(app)
}
