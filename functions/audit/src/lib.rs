//! Serves what reads the event log: the audit trail, aggregation, and the search of events.

mod aggregate;
mod event_search;
mod list;
mod scope;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use event_log::LogStore;
use platform::Platform;
use platform::http::{Credentials, authenticate};
use platform::page_token::PageTokens;

#[derive(Clone)]
pub struct App {
    platform: Platform,
    log: LogStore,
    /// Signs the cursors of searches.
    tokens: PageTokens,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, log: LogStore, tokens: PageTokens) -> ApiRouter {
    let app = App {
        platform: platform.clone(),
        log,
        tokens,
    };
    ApiRouter::new()
        .api_route("/audit-trail", list::route())
        .api_route("/audit-trail/aggregate", aggregate::route())
        .api_route("/events/search", event_search::route())
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .with_state(app)
}
