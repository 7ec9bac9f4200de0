//! `POST /data/{store_id}/query`: one read-only SQL statement over the current version.

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
    operation
        .id("queryDataStore")
        .tag("data stores")
        .summary("Query a data store")
        .description(FORMS)
        .response::<200, axum::Json<QueryResponse>>()
        .response_with::<304, (), _>(|response| response.description(UNCHANGED))
}

/// What the operations that answer a query say of its forms.
pub const FORMS: &str = "With `Accept: text/csv` the rows come as CSV, with `Accept: application/vnd.apache.arrow.stream` as \
    an Arrow IPC stream; the headers `x-row-count` and `x-truncated` then say what the JSON form says in its fields. The `ETag` \
    stands for the query over this version; a query that depends on chance or on the time has none.";

/// What the operations that answer a query say of 304.
pub const UNCHANGED: &str = "`If-None-Match` names the answer's `ETag`: the caller has it already.";

pub async fn handler(
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

/// What a JSON answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The rows.
    Rows,
    /// The rows and the version.
    RowsAndVersion,
}

/// Refuses a `limit` that is out of bounds; `field` is its path in the body.
pub fn check_limit(field: &str, limit: Option<usize>) -> Result<()> {
    if limit.is_some_and(|limit| !(1..=MAX_ROWS).contains(&limit)) {
        return Err(Error::invalid(format!(
            "The field '{field}' must be from 1 to {MAX_ROWS}."
        )));
    }
    Ok(())
}

/// The answer of a query over a loaded version, in the form that the caller wants; 304 where they have it.
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
    // Weak, because the JSON form says how long the database worked.
    let tag = tag(version, request, format, form);
    let etag = format!("W/\"{tag}\"");
    if if_none_match(headers, &tag) {
        // Only an answer that holds as long as its version was ever given a tag.
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
    let Answered { answer, is_volatile } = app.stores.ask(tenant, loaded, &query).await?;
    let body = match (format, shows) {
        (Format::Json, Shows::RowsAndVersion) => with_first("version_id", version, &answer.body)?,
        _ => answer.body,
    };
    let known = [
        (CONTENT_TYPE, content_type(format).to_owned()),
        (VARY, "accept".to_owned()),
    ];
    let mut response = (known, body).into_response();
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

const ROW_COUNT: HeaderName = HeaderName::from_static("x-row-count");
const TRUNCATED: HeaderName = HeaderName::from_static("x-truncated");

/// A JSON object, as bytes, with one more member, a text, as its first: an answer is long, and is not read again.
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
