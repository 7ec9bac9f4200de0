//! `POST /data/{store_id}/query`: runs one read-only SQL statement over the current version.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use lake::Format;
use lake::limits::MAX_ROWS;
use lake::store::{Answered, Loaded, Query};
use platform::auth::permission::ReadStores;
use platform::http::precondition::if_none_match;
use platform::http::{Call, Json, Path, strict};
use platform::{Error, Result, Tenant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::model::StorePath;
use crate::negotiation::{accepted, content_type, tag};
use crate::query_doc::{QUERY_RULES, ROW_COUNT, TRUNCATED, query_answers};

/// A query over a data store.
#[derive(Deserialize, JsonSchema)]
pub struct QueryRequest {
    /// One SELECT in the SQL of DuckDB. `{{name}}` stands for the value of a parameter.
    pub sql: String,
    /// Values of the parameters by name: strings, numbers, booleans, nulls, or arrays of these for `IN
    /// ({{name}})`, with 10,000 elements in all. Each parameter of the statement needs a value; other entries
    /// are ignored.
    #[serde(default, deserialize_with = "strict::json_object")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub params: Map<String, Value>,
    /// Most rows to answer. Default: 1,000.
    #[schemars(range(min = 1, max = MAX_ROWS))]
    pub limit: Option<usize>,
}

/// The rows of a query.
#[derive(Serialize, JsonSchema)]
pub struct QueryResult {
    /// Names of the columns, in the order of the statement. Two columns can share a name.
    pub columns: Vec<String>,
    /// Types of the columns: those of tables, such as `STRING` or `DECIMAL(18,4)`, and any other one of
    /// DuckDB.
    pub column_types: Vec<String>,
    /// Rows, each with one value for each column. Integers beyond 2^53 and decimals are strings, so that no
    /// digit is lost; times are ISO 8601 in UTC; NaN and infinities are null.
    pub rows: Vec<Vec<Value>>,
    /// Number of rows in this answer.
    pub row_count: u64,
    /// Whether the statement has more rows than the limit.
    pub truncated: bool,
    /// Time that the database worked, in milliseconds.
    pub execution_time_ms: f64,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("queryDataStore")
        .tag("data stores")
        .summary("Query a data store")
        .description(&format!(
            "Runs one read-only SQL statement over the current version of a data store. Use it for rows and aggregates; to read \
             all rows of a large table, use `downloadDataStore`.\n\n{QUERY_RULES}"
        ))
        .response_with::<200, axum::Json<QueryResult>, _>(|response| response.description("The rows of the statement."))
        .with(query_answers)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    headers: HeaderMap,
    Json(body): Json<QueryRequest>,
) -> Result<Response> {
    let tenant = call.tenant()?;
    check_limit("limit", body.limit)?;
    let loaded = app.stores.load(&tenant, &path.store_id).await?;
    answer(&app, &tenant, &loaded, &headers, &body, Shows::Rows).await
}

/// Content of a JSON answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    Rows,
    RowsAndVersion,
}

/// Refuses a `limit` out of bounds; `field` is its path in the body.
pub fn check_limit(field: &str, limit: Option<usize>) -> Result<()> {
    if limit.is_some_and(|limit| !(1..=MAX_ROWS).contains(&limit)) {
        return Err(Error::invalid_field(
            field,
            format!("must be from 1 to {MAX_ROWS}."),
        ));
    }
    Ok(())
}

/// Answers a query over a loaded version in the format that the caller accepts; 304 if the caller already has
/// the answer.
pub async fn answer(
    app: &App,
    tenant: &Tenant,
    loaded: &Loaded,
    headers: &HeaderMap,
    request: &QueryRequest,
    shows: Shows,
) -> Result<Response> {
    let version = &loaded.manifest.version_id;
    let format = accepted(headers);
    let form = match shows {
        Shows::Rows => "",
        Shows::RowsAndVersion => "version",
    };
    // Weak, because the JSON form contains the execution time.
    let tag = tag(version, request, format, form);
    let etag = format!("W/\"{tag}\"");
    if if_none_match(headers, &tag) {
        // A matching tag proves that the answer depends on the version alone, because only such answers get a
        // tag.
        return Ok((
            StatusCode::NOT_MODIFIED,
            [(ETAG, etag), (VARY, "accept".to_owned())],
        )
            .into_response());
    }
    let query = Query {
        sql: &request.sql,
        params: &request.params,
        limit: request.limit,
        format,
    };
    let Answered { answer, is_volatile } = app.stores.query(tenant, loaded, &query).await?;
    let body = match (format, shows) {
        (Format::Json, Shows::RowsAndVersion) => with_first("version_id", version, &answer.body)?,
        _ => answer.body,
    };
    let headers = [
        (CONTENT_TYPE, content_type(format).to_owned()),
        (VARY, "accept".to_owned()),
    ];
    let mut response = (headers, body).into_response();
    let mut add = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::try_from(text) {
            response.headers_mut().insert(name, value);
        }
    };
    if !is_volatile {
        add(ETAG, &etag);
    }
    if format != Format::Json {
        add(ROW_COUNT, &answer.row_count.to_string());
        add(TRUNCATED, &answer.is_truncated.to_string());
    }
    Ok(response)
}

/// Inserts a text member at the start of a JSON object in bytes, because parsing a long answer again is slow.
pub fn with_first(name: &str, text: &str, object: &[u8]) -> Result<Bytes> {
    let rest = object.strip_prefix(b"{");
    let rest = rest.ok_or_else(|| Error::internal("an answer is no object"))?;
    let mut body = Vec::with_capacity(object.len() + name.len() + text.len() + 16);
    body.push(b'{');
    serde_json::to_writer(&mut body, name).map_err(Error::internal)?;
    body.push(b':');
    serde_json::to_writer(&mut body, text).map_err(Error::internal)?;
    body.push(b',');
    body.extend_from_slice(rest);
    Ok(Bytes::from(body))
}
