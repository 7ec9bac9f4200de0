//! Serves the workflow run endpoints: list, read, query, signal and stop runs. The stream of a run's updates
//! is `functions/stream`.

mod audience;
mod conversation_list;
mod model;
mod run_act;
mod run_get;
mod run_list;
mod run_query;
mod run_signal;
mod type_list;
mod update_list;
mod update_post;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use platform::Platform;
use platform::config::ConfigError;
use platform::deployment::Deployment;
use platform::http::{Credentials, authenticate};
use platform::page_token::PageTokens;
use workflow::engine::Engine;
use workflow::listing::RunListings;
use workflow::records::Runs;
use workflow::wiring::Wiring;

#[derive(Clone)]
pub struct Workflows {
    pub engine: Engine,
    pub runs: Runs,
    pub listings: RunListings,
}

impl Workflows {
    pub fn from_deployment(deployment: &Deployment, engine: Engine) -> Result<Self, ConfigError> {
        let runs = Wiring::from_deployment(deployment)?.runs;
        let tokens = PageTokens::from_deployment(deployment)?;
        Ok(Self {
            engine,
            listings: RunListings::new(runs.clone(), tokens, deployment.clock()),
            runs,
        })
    }
}

#[derive(Clone)]
pub struct App {
    platform: Platform,
    workflows: Workflows,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, workflows: Workflows) -> ApiRouter {
    let app = App {
        platform: platform.clone(),
        workflows,
    };

    let p = &platform;
    ApiRouter::new()
        .api_route("/workflows/conversations", conversation_list::route())
        .api_route("/workflows/runs", run_list::route())
        .api_route("/workflows/runs/{run_id}/updates", update_post::route(p, &app))
        .api_route("/workflows/runs/{workflow_id}/{run_id}", run_get::route())
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/actions/{action}",
            run_act::route(p, &app),
        )
        .route(
            "/workflows/runs/{workflow_id}/{run_id}/query",
            get(run_query::without_name),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/query/{query_name}",
            run_query::route(),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/signal/{signal_name}",
            run_signal::route(p, &app),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/updates",
            update_list::route(),
        )
        .api_route("/workflows/types", type_list::route())
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .with_state(app)
}
