//! Emulates DynamoDB for the AWS SDK over an in-process database: the operations that Millrace uses.

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest request, in bytes; DynamoDB's own limit.
const MAX_BYTES: usize = 16 * 1_024 * 1_024;
/// Header that names the operation of a request.
pub const TARGET_HEADER: &str = "x-amz-target";
/// Prefix of an operation's name.
const TARGET: &str = "DynamoDB_20120810.";

/// Returns the routes over a database. Each operation runs synchronously, on the request's thread.
pub fn routes(database: Database) -> Router {
    Router::new()
        .route("/", post(answer))
        .layer(DefaultBodyLimit::max(MAX_BYTES))
        .with_state(database)
}

async fn answer(State(database): State<Database>, headers: HeaderMap, body: String) -> Response {
    let target = headers.get(TARGET_HEADER).and_then(|target| target.to_str().ok());
    let operation = target
        .and_then(|target| target.strip_prefix(TARGET))
        .unwrap_or_default();
    let (status, body) = match run(&database, operation, &body) {
        Ok(answer) => (StatusCode::OK, answer),
        Err(error) => {
            let status = StatusCode::from_u16(error.status_code());
            (
                status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
                error.to_json(),
            )
        }
    };
    (
        status,
        [(header::CONTENT_TYPE, "application/x-amz-json-1.0")],
        body,
    )
        .into_response()
}

fn run(database: &Database, operation: &str, body: &str) -> Result<String, DynoxideError> {
    match operation {
        "BatchGetItem" => with(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => with(body, |request| database.batch_write_item(request)),
        "CreateTable" => with(body, |request| database.create_table(request)),
        "DeleteItem" => with(body, |request| database.delete_item(request)),
        "DescribeTable" => with(body, |request| database.describe_table(request)),
        "GetItem" => with(body, |request| database.get_item(request)),
        "PutItem" => with(body, |request| database.put_item(request)),
        "Query" => with(body, |request| database.query(request)),
        "Scan" => with(body, |request| database.scan(request)),
        "TransactWriteItems" => with(body, |request| database.transact_write_items(request)),
        "UpdateItem" => with(body, |request| database.update_item(request)),
        "UpdateTimeToLive" => with(body, |request| database.update_time_to_live(request)),
        other => Err(DynoxideError::ValidationException(format!(
            "The emulator of DynamoDB has no operation '{other}'."
        ))),
    }
}

fn with<Request: DeserializeOwned, Answer: Serialize>(
    body: &str,
    run: impl FnOnce(Request) -> Result<Answer, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_str(body)
        .map_err(|error| DynoxideError::SerializationException(error.to_string()))?;
    serde_json::to_string(&run(request)?)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}
