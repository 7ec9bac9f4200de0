//! The audit trail and the log of events: who changed what and whether it worked, and how much happened.

mod aggregate;
mod list;
mod scope;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use event_log::LogStore;
use platform::Platform;
use platform::http::{Credentials, authenticate};

/// What the handlers work with.
#[derive(Clone)]
pub struct App {
    platform: Platform,
    log: LogStore,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// The routes, below the API root.
pub fn routes(platform: Platform, log: LogStore) -> ApiRouter {
    let app = App {
        platform: platform.clone(),
        log,
    };
    ApiRouter::new()
        .api_route("/audit-trail", get_with(list::handler, list::doc))
        .api_route(
            "/audit-trail/aggregate",
            post_with(aggregate::handler, aggregate::doc),
        )
        .layer(from_fn_with_state((platform, Credentials::Token), authenticate))
        .with_state(app)
}
