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
use aide::axum::routing::{delete_with, get_with, post_with, put_with};
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use platform::Platform;
use platform::http::audit::record;
use platform::http::{Credentials, audited, authenticate};
use platform::records::audit::AuditAction;
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
    let mutation = |action| from_fn_with_state(audited(&platform, action, "prompt"), record);
    let creates = mutation(AuditAction::Create);
    let updates = mutation(AuditAction::Update);
    let deletes = mutation(AuditAction::Delete);

    ApiRouter::new()
        .api_route("/prompts", get_with(list::handler, list::doc))
        .api_route(
            "/prompts",
            post_with(create::handler, create::doc).route_layer(creates.clone()),
        )
        .api_route("/prompts/facets", post_with(facets::handler, facets::doc))
        .api_route("/prompts/{pt_id}", get_with(get::handler, get::doc))
        .api_route(
            "/prompts/{pt_id}",
            put_with(update::handler, update::doc).route_layer(updates),
        )
        .api_route(
            "/prompts/{pt_id}",
            delete_with(delete::handler, delete::doc).route_layer(deletes),
        )
        .api_route(
            "/prompts/{pt_id}/fork",
            post_with(fork::handler, fork::doc).route_layer(creates),
        )
        .api_route("/prompts/{pt_id}/forks", get_with(forks::handler, forks::doc))
        .api_route(
            "/prompts/{pt_id}/interactions",
            get_with(interactions::handler, interactions::doc),
        )
        .api_route(
            "/prompts/{pt_id}/versions",
            get_with(versions::handler, versions::doc),
        )
        .layer(from_fn_with_state((platform, Credentials::Token), authenticate))
        .with_state(app)
}
