//! `POST /data/{store_id}/versions/{version_id}/query`: one read-only SQL statement over a version of the store.

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
use crate::query::{FORMS, QueryRequest, QueryResponse, Shows, UNCHANGED, answer, check_limit};

/// The rows of a query over a version.
#[derive(Serialize, JsonSchema)]
pub struct VersionQueryResponse {
    /// The version.
    pub version_id: String,
    /// The answer of the query operation.
    #[serde(flatten)]
    pub answer: QueryResponse,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("queryStoreVersion")
        .tag("data stores")
        .summary("Query a version of a data store")
        .description(FORMS)
        .response::<200, axum::Json<VersionQueryResponse>>()
        .response_with::<304, (), _>(|response| response.description(UNCHANGED))
}

pub async fn handler(
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
