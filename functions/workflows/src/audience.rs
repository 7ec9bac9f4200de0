//! Keeps the audit record of a refused call about a private run among the readers of the run.
//!
//! A handler names the owner of the run that it has read. A call that is refused before that, such as one
//! with a malformed body, has the run's id in its record too, so the run is read afterwards. The record of a
//! caller who does not see the run stays as one about a run that never existed.

use aide::axum::routing::ApiMethodRouter;
use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use platform::auth::Viewer;
use platform::http::{Audience, Caller};
use platform::ids::is_id;
use tracing::warn;
use workflow::engine::Engine;

use crate::App;

/// Adds the layer to a route with the path parameter `run_id`, inside of that of its audit record.
pub fn layered(app: &App, route: ApiMethodRouter<App>) -> ApiMethodRouter<App> {
    route.route_layer(from_fn_with_state(app.workflows.engine.clone(), of_refused_calls))
}

async fn of_refused_calls(State(engine): State<Engine>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let parameters = RawPathParams::from_request_parts(&mut parts, &()).await;
    let run_id = parameters.ok().and_then(|parameters| {
        let mut named = parameters.iter();
        let (_, id) = named.find(|(name, id)| *name == "run_id" && is_id(id))?;
        Some(id.to_owned())
    });
    let audience = parts.extensions.get::<Audience>().cloned().unwrap_or_default();
    let caller = parts.extensions.get::<Caller>().cloned();
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.status().is_success() || audience.is_known() {
        return response;
    }
    if let (Some(Caller(Ok(principal))), Some(run_id)) = (caller, run_id)
        && let Ok(tenant) = principal.tenant()
    {
        match engine.private_to(&tenant, &run_id).await {
            Ok(owner) if Viewer::from_principal(&principal).sees(owner.as_deref()) => {
                audience.private_to(owner.as_deref());
            }
            Ok(_) => {}
            Err(cause) => warn!(run_id, %cause, "the audience of an audit record is not known"),
        }
    }
    response
}
