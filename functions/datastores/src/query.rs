//! `POST /data/{store_id}/query`: one read-only SQL statement over the current version.

use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use lake::limits::MAX_ROWS;
use platform::auth::permission::ReadStores;
use platform::http::openapi::with_errors;
use platform::http::{Call, Json, Path, strict};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::model::StorePath;

/// A query.
#[derive(Deserialize, JsonSchema)]
pub struct QueryRequest {
    /// One SELECT; `{{name}}` stands for a parameter.
    pub sql: String,
    /// The parameters' values: texts, numbers, booleans, nulls, or arrays of these.
    #[serde(default, deserialize_with = "strict::json_object")]
    pub params: Map<String, Value>,
    /// Most rows to answer with: 1 to 10,000, 1,000 where it is left out.
    pub limit: Option<usize>,
}

/// The rows of a query.
#[derive(Serialize, JsonSchema)]
pub struct QueryResponse {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The columns' types.
    pub column_types: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Their number.
    pub row_count: u64,
    /// Whether there were more than the limit.
    pub truncated: bool,
    /// How long the database worked, in milliseconds.
    pub execution_time_ms: f64,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("query_run")
        .tag("data stores")
        .summary("Query a data store")
        .response::<200, axum::Json<QueryResponse>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<QueryRequest>,
) -> Result<Response> {
    if body.limit.is_some_and(|limit| !(1..=MAX_ROWS).contains(&limit)) {
        return Err(Error::invalid(format!(
            "The field 'limit' must be from 1 to {MAX_ROWS}."
        )));
    }
    let answer = app
        .stores
        .query(
            &call.tenant()?,
            &path.store_id,
            &body.sql,
            &body.params,
            body.limit,
        )
        .await?;
    Ok(([(CONTENT_TYPE, "application/json")], answer).into_response())
}
