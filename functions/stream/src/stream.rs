//! `GET /workflows/runs/{workflow_id}/{run_id}/stream`: streams the update messages of a run as server-sent
//! events.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use platform::auth::Viewer;
use platform::auth::permission::UseRuns;
use platform::http::openapi::request_header;
use platform::http::{Call, Path, Query, Recheck};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::engine::visible;
use workflow::records::MAX_UPDATE_NUMBER;
use workflow::views::RunUpdate;

use crate::App;
use crate::access::Access;
use crate::follow::{Beginning, follow};

/// The path of the stream of a run.
#[derive(Deserialize, JsonSchema)]
pub struct StreamPath {
    /// Workflow id of the run.
    pub workflow_id: String,
    /// Run id.
    pub run_id: String,
}

/// Where the stream begins, and the credentials.
#[derive(Deserialize, JsonSchema)]
pub struct StreamQuery {
    /// Timestamp after which earlier messages are sent first, in milliseconds since the Unix epoch. Default:
    /// only messages from now on.
    pub since: Option<i64>,
    /// Access token, for callers such as `EventSource` that cannot send a header.
    #[expect(dead_code, reason = "read by the authentication; here it is documented")]
    pub access_token: Option<String>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("streamRunUpdates")
        .tag("workflow runs")
        .summary("Follow the update messages of a workflow run")
        .description(
            "Sends the update messages of a run as server-sent events, as they are published, until the run ends. `id` is the \
             number of the message and `data` the message as JSON; the event has no name, so that `onmessage` of an \
             `EventSource` receives it. The last message of a run has the type `complete` or `terminated`, and a \
             reconnection after it is answered 204, which stops an `EventSource`.\n\n\
             Limits: a connection ends after some minutes, and with its credentials: at the end of the token, and within \
             30 seconds of the withdrawal of its key; `last-event-id` continues after the last message, and none is lost \
             or sent twice.",
        )
        .with(|operation| {
            request_header(
                operation,
                "last-event-id",
                "Number of the last message that the caller has. An `EventSource` sends it by itself.",
            )
        })
        .response_with::<200, axum::Json<RunUpdate>, _>(|mut response| {
            // Each event holds one message.
            let content = &mut response.inner().content;
            if let Some(message) = content.shift_remove("application/json") {
                content.insert("text/event-stream".to_owned(), message);
            }
            response.description("The messages, one server-sent event each.")
        })
        .response_with::<204, (), _>(|response| {
            response.description(
                "The run has ended, and `last-event-id` or `since` is not before the message that says so.",
            )
        })
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<StreamPath>,
    Query(query): Query<StreamQuery>,
    Extension(recheck): Extension<Recheck>,
    headers: HeaderMap,
) -> Result<Response> {
    let beginning = match headers.get("last-event-id") {
        Some(id) => Beginning::After(number(id.as_bytes())?),
        None => query.since.map_or(Beginning::Now, Beginning::Since),
    };
    let tenant = call.tenant()?;
    // Subscribe before the first look, so that no later change is missed.
    let followers = app.stream.followers.as_ref();
    let news = followers.map(|followers| followers.follow(&path.run_id));
    let state = app.stream.engine.get(&tenant, &path.run_id).await?;
    let state = visible(
        state,
        Some(&path.workflow_id),
        &Viewer::from_principal(&call.principal),
    )?;
    let access = Access::new(
        recheck,
        call.principal.valid_until,
        state.about.private_to(),
        call.now,
    );
    let Some(frames) = follow(app.stream, (tenant, access), state, news, beginning).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // Proxies such as nginx hold back what is small otherwise.
        (HeaderName::from_static("x-accel-buffering"), "no"),
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
