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
use platform::aws::SdkConfig;
use platform::config::{ConfigError, Environment};
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS};
use platform::http::{Credentials, authenticate};
use platform::records::runs::Runs;
use workflow::engine::Engine;
use workflow::live::Followers;
use workflow::wiring::Wiring;

/// How often records are looked at where nobody tells of changes: an update must be seen within 300 ms.
const POLL: Duration = Duration::from_millis(200);
/// How long a deployed stream lives: a caller who goes away does not end the function, which costs until it ends itself. A client
/// comes again, and goes on where it was.
const LIFETIME: Duration = Duration::from_secs(110);
/// How often records are looked at where changes are told: only in case one was made by another process.
const POLL_TOLD: Duration = Duration::from_secs(60);
/// Streams of one process at a time; one account has half of them.
const MAX_STREAMS: usize = 2_000;

/// What the stream needs beside the platform.
#[derive(Clone)]
pub struct Stream {
    engine: Engine,
    runs: Runs,
    /// Who tells of changes, where somebody in this process does.
    followers: Option<Arc<Followers>>,
    poll: Duration,
    /// How long one answer lasts; for ever where it is missing.
    lifetime: Option<Duration>,
    permits: FairPermits,
}

impl Stream {
    /// From the environment of a Lambda function.
    pub fn from_environment(environment: &Environment, sdk: &SdkConfig) -> Result<Self, ConfigError> {
        let wiring = Wiring::from_environment(environment, sdk)?;
        Ok(Self {
            engine: wiring.engine(workflow::Registry::new()),
            runs: wiring.runs,
            followers: None,
            poll: POLL,
            lifetime: Some(LIFETIME),
            permits: FairPermits::new(MAX_STREAMS, MAX_WAITING_REQUESTS),
        })
    }

    /// For a process in which changes are told.
    pub fn told(engine: Engine, runs: Runs, followers: Arc<Followers>) -> Self {
        Self {
            engine,
            runs,
            followers: Some(followers),
            poll: POLL_TOLD,
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
