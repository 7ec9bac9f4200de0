//! `POST /data/{store_id}/query/batch`: runs several statements over one version; a failed statement does not
//! fail the others.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use lake::Format;
use lake::limits::MAX_ROWS;
use lake::store::Query;
use platform::auth::permission::ReadStores;
use platform::http::text::{MAX_NAME_LENGTH, check_name};
use platform::http::{Call, Json, Path, strict};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::model::StorePath;
use crate::query::{QueryResult, check_limit, with_first};

const MAX_QUERIES: usize = 20;

/// Queries to run over one version.
#[derive(Deserialize, JsonSchema)]
pub struct QueryBatchRequest {
    /// At most 20 queries.
    #[serde(deserialize_with = "strict::objects")]
    #[schemars(length(max = MAX_QUERIES))]
    pub queries: Vec<BatchQuery>,
}

/// A query of a batch.
#[derive(Deserialize, JsonSchema)]
pub struct BatchQuery {
    /// Label of 1 to 200 characters, repeated in the result; need not be unique.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: Option<String>,
    /// One SELECT in the SQL of DuckDB. `{{name}}` stands for the value of a parameter.
    pub sql: String,
    /// Values of the parameters by name: strings, numbers, booleans, nulls, or arrays of these for `IN
    /// ({{name}})`.
    #[serde(default, deserialize_with = "strict::json_object")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub params: Map<String, Value>,
    /// Most rows to answer. Default: 1,000.
    #[schemars(range(min = 1, max = MAX_ROWS))]
    pub limit: Option<usize>,
}

/// The results of a batch.
#[derive(Serialize, JsonSchema)]
pub struct QueryBatchResult {
    /// Id of the version that all queries read.
    pub version_id: String,
    /// One result for each query, in the order of the request: its rows, or its error.
    pub results: Vec<BatchQueryResult>,
}

/// The result of one query of a batch: a `FailedQuery` has `error`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used: rows are passed on unread")]
pub enum BatchQueryResult {
    Rows(BatchQueryRows),
    Failed(FailedQuery),
}

/// The rows of a query of a batch.
#[derive(Serialize, JsonSchema)]
pub struct BatchQueryRows {
    /// Label from the request; missing if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(flatten)]
    pub answer: QueryResult,
}

/// The error of a query of a batch.
#[derive(Serialize, JsonSchema)]
pub struct FailedQuery {
    /// Label from the request; missing if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The message that `queryDataStore` would answer.
    pub error: String,
    /// HTTP status that `queryDataStore` would answer, such as 400, 408 or 422.
    pub status: u16,
    /// Line of the statement, from 1; missing where the place is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Place in that line in characters, from 1; missing where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("queryDataStoreBatch")
        .tag("data stores")
        .summary("Run several queries over one version")
        .description(
            "Runs up to 20 read-only statements over the current version, one after another: for a page with several charts that \
             must show the same state. A query that fails has its error in its place, with the answer 200, and does not fail the \
             others; a request that is not as it must be is a 400 for all.\n\n\
             Together the queries have 25 seconds and 6.15 MB: what comes too late has the status 408, what does not fit 422. The \
             answer is always JSON, without an `etag`. No side effects, and no audit record.",
        )
        .response::<200, axum::Json<QueryBatchResult>>()
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<QueryBatchRequest>,
) -> Result<Response> {
    let tenant = call.tenant()?;
    check(&body.queries)?;
    let loaded = app.stores.load(&tenant, &path.store_id).await?;
    let queries = body.queries.iter().map(|query| Query {
        sql: &query.sql,
        params: &query.params,
        limit: query.limit,
        format: Format::Json,
    });
    let queries: Vec<_> = queries.collect();
    let answers = app.stores.query_all(&tenant, &loaded, &queries).await;
    let mut results = Vec::new();
    for (query, answer) in body.queries.into_iter().zip(answers) {
        results.push(result(query.name, answer)?);
    }
    let results = results.join(&b","[..]);
    let list = [&b"{\"results\":["[..], &results, b"]}"].concat();
    let body = with_first("version_id", &loaded.manifest.version_id, &list)?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

fn check(queries: &[BatchQuery]) -> Result<()> {
    if queries.len() > MAX_QUERIES {
        return Err(Error::invalid_field(
            "queries",
            format!(
                "holds {} queries; at most {MAX_QUERIES} go into one batch.",
                queries.len()
            ),
        ));
    }
    for (index, query) in queries.iter().enumerate() {
        check_limit(&format!("queries[{index}].limit"), query.limit)?;
        if let Some(name) = &query.name {
            check_name(&format!("queries[{index}].name"), name)?;
        }
    }
    Ok(())
}

fn result(name: Option<String>, answer: Result<Bytes>) -> Result<Bytes> {
    match (answer, name) {
        (Ok(answer), None) => Ok(answer),
        (Ok(answer), Some(name)) => with_first("name", &name, &answer),
        (Err(failure), name) => {
            let place = failure.place();
            let failed = FailedQuery {
                name,
                error: failure.message().to_owned(),
                status: failure.status(),
                line: place.map(|place| place.line),
                column: place.map(|place| place.column),
            };
            Ok(serde_json::to_vec(&failed).map_err(Error::internal)?.into())
        }
    }
}
