//! Serves the audit trail and aggregation over the event log.

mod aggregate;
mod list;
mod scope;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use event_log::LogStore;
use platform::Platform;
use platform::http::{Credentials, authenticate};

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

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, log: LogStore) -> ApiRouter {
    let app = App {
        platform: platform.clone(),
        log,
    };
    ApiRouter::new()
        .api_route("/audit-trail", list::route())
        .api_route("/audit-trail/aggregate", aggregate::route())
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .with_state(app)
}
