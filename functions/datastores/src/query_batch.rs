//! `POST /data/{store_id}/query/batch`: several statements over one version; one that fails does not fail the others.

use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use lake::store::Query;
use lake::{Format, Position};
use platform::auth::permission::ReadStores;
use platform::http::text::check_name;
use platform::http::{Call, Json, Path, strict};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::model::StorePath;
use crate::query::{QueryResponse, check_limit, with_first};

/// Most queries of a batch.
const MAX_QUERIES: usize = 20;

/// Queries.
#[derive(Deserialize, JsonSchema)]
pub struct BatchRequest {
    /// At most 20.
    #[serde(deserialize_with = "strict::objects")]
    pub queries: Vec<BatchQuery>,
}

/// A query of a batch.
#[derive(Deserialize, JsonSchema)]
pub struct BatchQuery {
    /// Stands beside its result.
    pub name: Option<String>,
    /// See the query operation.
    pub sql: String,
    /// See the query operation.
    #[serde(default, deserialize_with = "strict::json_object")]
    pub params: Map<String, Value>,
    /// See the query operation.
    pub limit: Option<usize>,
}

/// What the queries answer, in their order.
#[derive(Serialize, JsonSchema)]
pub struct BatchResponse {
    /// The version that all of them saw.
    pub version_id: String,
    /// For each query its rows, or why it has none.
    pub results: Vec<BatchResult>,
}

/// What one query answers.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used: rows are passed on unread")]
pub enum BatchResult {
    /// Its rows.
    Rows {
        /// The query's name, where it has one.
        name: Option<String>,
        /// The answer of the query operation.
        #[serde(flatten)]
        answer: QueryResponse,
    },
    /// Why it has none.
    Failed(FailedQuery),
}

/// Why a query of a batch failed.
#[derive(Serialize, JsonSchema)]
pub struct FailedQuery {
    /// The query's name, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the query operation would say.
    pub error: String,
    /// The status that the query operation would answer with.
    pub status: u16,
    /// The line of the statement, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("queryDataStoreBatch")
        .tag("data stores")
        .summary("Run several queries over one version")
        .response::<200, axum::Json<BatchResponse>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<BatchRequest>,
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
    let answers = app.stores.ask_all(&tenant, &loaded, &queries).await;
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
        return Err(Error::invalid(format!(
            "The field 'queries' holds {} queries; at most {MAX_QUERIES} go into one batch.",
            queries.len()
        )));
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
            let position = Position::of(&failure);
            let failed = FailedQuery {
                name,
                error: failure.message().to_owned(),
                status: failure.status(),
                line: position.map(|position| position.line),
                column: position.map(|position| position.column),
            };
            Ok(serde_json::to_vec(&failed).map_err(Error::internal)?.into())
        }
    }
}
