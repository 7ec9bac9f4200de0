//! The stream of a run's update messages: server-sent events, for as long as the run goes on and the caller listens.
//!
//! A function of its own because its answer is a stream, and because it lives as long as somebody listens.

mod follow;
mod frame;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use platform::Platform;
use platform::config::ConfigError;
use platform::deployment::Deployment;
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS};
use platform::http::{Credentials, authenticate};
use platform::records::runs::Runs;
use workflow::engine::Engine;
use workflow::live::Followers;
use workflow::wiring::Wiring;

/// Pauses between two looks at the records, where this process is not told of changes.
const POLLS: Polls = Polls {
    shortest: Duration::from_millis(200),
    longest: Duration::from_secs(1),
    state: Duration::from_secs(2),
};
/// How long a deployed stream lives: a caller who goes away does not end the function, which costs until it ends itself. A client
/// comes again, and goes on where it was.
const LIFETIME: Duration = Duration::from_secs(110);
/// Where changes are told, a look at the records finds only what another process changed.
const POLLS_TOLD: Polls = Polls {
    shortest: Duration::from_secs(60),
    longest: Duration::from_secs(60),
    state: Duration::ZERO,
};
/// Streams of one process at a time; one account has half of them.
const MAX_STREAMS: usize = 2_000;

/// How often a stream looks at the records of its run.
#[derive(Clone, Copy, Debug)]
struct Polls {
    /// After a message.
    shortest: Duration,
    /// After a while without one: each pause is twice the one before.
    longest: Duration,
    /// At the state, which shows the end of a run and can have 400 KB, unless a message came. The head of
    /// the messages has less than 1 KB.
    state: Duration,
}

/// What the stream needs beside the platform.
#[derive(Clone)]
pub struct Stream {
    engine: Engine,
    runs: Runs,
    /// Who tells of changes, where somebody in this process does.
    followers: Option<Arc<Followers>>,
    polls: Polls,
    /// How long one answer lasts; for ever where it is missing.
    lifetime: Option<Duration>,
    permits: FairPermits,
}

impl Stream {
    /// Of a deployed function.
    pub fn of(deployment: &Deployment) -> Result<Self, ConfigError> {
        let wiring = Wiring::of(deployment)?;
        let engine = wiring.engine(workflow::Registry::new())?;
        Ok(Self::polling(engine, wiring.runs))
    }

    /// For a process that is not told of changes.
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

    /// For a process in which changes are told.
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

/// What the handler works with.
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

/// The route, below the API root.
pub fn routes(platform: Platform, stream: Stream) -> ApiRouter {
    let app = App {
        platform: platform.clone(),
        stream,
    };
    ApiRouter::new()
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/stream",
            get_with(stream::handler, stream::doc),
        )
        .layer(from_fn_with_state(
            (platform, Credentials::TokenOrQuery),
            authenticate,
        ))
        .with_state(app)
}
