//! Serves the workflow run endpoints: list, read, query, signal and stop runs. The stream of a run's updates
//! is `functions/stream`.

mod act;
mod conversations;
mod detail;
mod list;
mod model;
mod query;
mod signal;
mod type_list;
mod update_list;
mod update_post;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use platform::Platform;
use platform::config::ConfigError;
use platform::deployment::Deployment;
use platform::http::audit::record;
use platform::http::{Credentials, audited, authenticate};
use platform::page_token::PageTokens;
use platform::records::audit::AuditAction;
use platform::records::runs::Runs;
use platform::telemetry::{self, Format};
use runs::process::{Evaluator, Expressions};
use workflow::Registry;
use workflow::engine::Engine;
use workflow::listing::RunListings;
use workflow::wiring::Wiring;

#[derive(Clone)]
pub struct Workflows {
    pub engine: Engine,
    pub runs: Runs,
    pub listings: RunListings,
}

impl Workflows {
    fn of(deployment: &Deployment, registry: Registry) -> Result<Self, ConfigError> {
        let wiring = Wiring::of(deployment)?;
        Ok(Self::new(
            wiring.engine(registry)?,
            wiring.runs.clone(),
            PageTokens::of(deployment)?,
        ))
    }

    pub fn new(engine: Engine, runs: Runs, tokens: PageTokens) -> Self {
        Self {
            engine,
            listings: RunListings::new(runs.clone(), tokens),
            runs,
        }
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

/// Runs the Lambda function with these workflow types until Lambda stops it.
pub async fn run(deployment: &Deployment, registry: Registry) -> Result<(), lambda_http::Error> {
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    let platform = Platform::of(deployment)?;
    // A query replays its run. A Lambda instance handles one request at a time.
    let expressions = Expressions::sandboxed(Evaluator::sandboxed(1)?);
    let registry = runs::process::with_expressions(registry, expressions);
    let workflows = Workflows::of(deployment, registry)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(routes(platform, workflows), clock, edge).await
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, workflows: Workflows) -> ApiRouter {
    let app = App {
        platform: platform.clone(),
        workflows,
    };
    let updates = audited(&platform, AuditAction::Update, "workflow").identified_by("run_id");
    let updates = from_fn_with_state(updates, record);

    ApiRouter::new()
        .api_route(
            "/workflows/conversations",
            post_with(conversations::handler, conversations::doc),
        )
        .api_route("/workflows/runs", post_with(list::handler, list::doc))
        .api_route(
            "/workflows/runs/{run_id}/updates",
            post_with(update_post::handler, update_post::doc).route_layer(updates.clone()),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}",
            get_with(detail::handler, detail::doc),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/actions/{action}",
            post_with(act::handler, act::doc).route_layer(updates.clone()),
        )
        .route(
            "/workflows/runs/{workflow_id}/{run_id}/query",
            get(query::without_name),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/query/{query_name}",
            get_with(query::handler, query::doc),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/signal/{signal_name}",
            post_with(signal::handler, signal::doc).route_layer(updates),
        )
        .api_route(
            "/workflows/runs/{workflow_id}/{run_id}/updates",
            get_with(update_list::handler, update_list::doc),
        )
        .api_route("/workflows/types", get_with(type_list::handler, type_list::doc))
        .layer(from_fn_with_state((platform, Credentials::Token), authenticate))
        .with_state(app)
}
