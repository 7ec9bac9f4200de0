//! `POST /data/{store_id}/versions/{version_id}/query`: runs one read-only SQL statement over a version of
//! the store.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Json, Path};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::VersionPath;
use crate::query::{QueryRequest, QueryResult, Shows, answer, check_limit};
use crate::query_doc::{QUERY_RULES, query_answers};

/// The rows of a query over a version.
#[derive(Serialize, JsonSchema)]
pub struct VersionQueryResult {
    /// Id of the version that was read.
    pub version_id: String,
    #[serde(flatten)]
    pub answer: QueryResult,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("queryStoreVersion")
        .tag("data stores")
        .summary("Query a version of a data store")
        .description(&format!(
            "Runs one read-only SQL statement over an earlier version of a data store, or over a snapshot: to read what was, or to \
             ask several questions about the same rows. A version that a collection has removed is a 404.\n\n{QUERY_RULES}"
        ))
        .response_with::<200, axum::Json<VersionQueryResult>, _>(|response| {
            response.description("The rows of the statement, in JSON with the id of the version.")
        })
        .with(query_answers)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<VersionPath>,
    headers: HeaderMap,
    Json(body): Json<QueryRequest>,
) -> Result<Response> {
    let tenant = call.tenant()?;
    check_limit("limit", body.limit)?;
    let loaded = app
        .stores
        .load_version(&tenant, &path.store_id, &path.version_id)
        .await?;
    answer(&app, &tenant, &loaded, &headers, &body, Shows::RowsAndVersion).await
}
