//! Serves the prompt template endpoints: a library of versioned templates and their uses.

mod create;
mod delete;
mod facets;
mod fork;
mod forks;
mod get;
mod interactions;
mod list;
mod model;
mod search;
mod update;
mod validate;
mod versions;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use platform::Platform;
use platform::http::{Credentials, authenticate};
use platform::records::interactions::Interactions;
use platform::records::prompts::Prompts;
use sandbox::Sandbox;

pub use prompts::{run_if_child, sandbox};

#[derive(Clone)]
pub struct App {
    platform: Platform,
    prompts: Prompts,
    interactions: Interactions,
    sandbox: Sandbox,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the routes relative to the API root; checks run in a [`sandbox()`].
pub fn routes(platform: Platform, sandbox: Sandbox) -> ApiRouter {
    let app = App {
        prompts: Prompts::new(platform.records.clone()),
        interactions: Interactions::new(platform.records.clone()),
        platform: platform.clone(),
        sandbox,
    };

    let p = &platform;
    ApiRouter::new()
        .api_route("/prompts", list::route().merge(create::route(p)))
        .api_route("/prompts/facets", facets::route())
        .api_route(
            "/prompts/{pt_id}",
            get::route().merge(update::route(p)).merge(delete::route(p)),
        )
        .api_route("/prompts/{pt_id}/fork", fork::route(p))
        .api_route("/prompts/{pt_id}/forks", forks::route())
        .api_route("/prompts/{pt_id}/interactions", interactions::route())
        .api_route("/prompts/{pt_id}/versions", versions::route())
        .layer(from_fn_with_state((platform, Credentials::Token), authenticate))
        .with_state(app)
}
