//! `GET /workflows/runs/{workflow_id}/{run_id}/stream`: the update messages of a run as they come, as server-sent events.

use aide::transform::TransformOperation;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use platform::auth::permission::UseRuns;
use platform::http::{Call, Path, Query};
use platform::records::runs::MAX_UPDATE_NUMBER;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::engine::visible;
use workflow::listing::Viewer;

use crate::App;
use crate::follow::{Beginning, follow};

/// The run in the path.
#[derive(Deserialize, JsonSchema)]
pub struct StreamPath {
    /// The run's workflow id.
    pub workflow_id: String,
    /// The run's id.
    pub run_id: String,
}

/// Where the stream begins.
#[derive(Deserialize, JsonSchema)]
pub struct StreamQuery {
    /// Also earlier messages, those after this timestamp, in milliseconds since the Unix epoch. Where it is left out, only new ones.
    pub since: Option<i64>,
    /// The access token, for callers that cannot send a header.
    #[expect(dead_code, reason = "read by the authentication; here it is documented")]
    pub access_token: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("streamRunUpdates")
        .tag("workflow runs")
        .summary("Follow the update messages of a workflow run")
        .response_with::<200, String, _>(|response| {
            response.description(
                "`text/event-stream`: one event for each message, with its number as `id` and the message as JSON in `data`. The last \
                 message of a run that has ended has the type `complete` or `terminated`. `Last-Event-ID` goes on after a message.",
            )
        })
        .response_with::<204, (), _>(|response| {
            response.description(
                "The run has ended, and `Last-Event-ID` or `since` is not before the message that says so. An `EventSource` stops.",
            )
        })
}

pub async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<StreamPath>,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let beginning = match headers.get("last-event-id") {
        Some(id) => Beginning::After(number(id.as_bytes())?),
        None => query.since.map_or(Beginning::Now, Beginning::Since),
    };
    let tenant = call.tenant()?;
    // From here on, nothing is missed: what is written before the first look is seen by it.
    let followers = app.stream.followers.as_ref();
    let told = followers.map(|followers| followers.follow(&path.run_id));
    let state = app.stream.engine.get(&tenant, &path.run_id).await?;
    let state = visible(state, Some(&path.workflow_id), &Viewer::of(&call.principal))?;
    let Some(frames) = follow(app.stream, tenant, state, told, beginning).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, Body::from_stream(frames)).into_response())
}

fn number(id: &[u8]) -> Result<u64> {
    let number: Option<u64> = std::str::from_utf8(id)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    number
        .filter(|number| *number < MAX_UPDATE_NUMBER)
        .ok_or_else(|| {
            Error::invalid(
                "The header Last-Event-ID is not the id of an event of this stream, which is a number.",
            )
        })
}
