//! Serves the prompt template endpoints: a library of versioned templates and their uses.

mod fork_list;
mod interaction_list;
mod model;
mod prompt_create;
mod prompt_delete;
mod prompt_facets;
mod prompt_fork;
mod prompt_get;
mod prompt_list;
mod prompt_publish;
mod prompt_render;
mod prompt_update;
mod search;
mod validate;
mod version_get;
mod version_list;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use platform::Platform;
use platform::http::{Credentials, authenticate};
use prompts::records::interactions::Interactions;
use prompts::records::prompts::Prompts;
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
        .api_route("/prompts", prompt_list::route().merge(prompt_create::route(p)))
        .api_route("/prompts/facets", prompt_facets::route())
        .api_route("/prompts/render", prompt_render::route())
        .api_route(
            "/prompts/{pt_id}",
            prompt_get::route()
                .merge(prompt_update::route(p))
                .merge(prompt_delete::route(p)),
        )
        .api_route("/prompts/{pt_id}/fork", prompt_fork::route(p))
        .api_route("/prompts/{pt_id}/forks", fork_list::route())
        .api_route("/prompts/{pt_id}/interactions", interaction_list::route())
        .api_route("/prompts/{pt_id}/publish", prompt_publish::route(p))
        .api_route("/prompts/{pt_id}/versions", version_list::route())
        .api_route("/prompts/{pt_id}/versions/{version}", version_get::route())
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .with_state(app)
}
