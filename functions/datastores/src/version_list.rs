//! `GET /data/{store_id}/versions`: the versions of a store, newest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::MAX_LISTED_VERSIONS;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply};
use platform::records::stores::StoreVersionRecord;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::StorePath;

/// Versions of a listing that names no limit.
const DEFAULT_LIMIT: usize = 50;

/// Which versions to show.
#[derive(Deserialize, JsonSchema)]
pub struct VersionsQuery {
    /// Only named snapshots.
    #[serde(default)]
    pub snapshots_only: bool,
    /// At most this many, 1 to 1,000; 50 where it is left out.
    pub limit: Option<usize>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listStoreVersions")
        .tag("data stores")
        .summary("List the versions of a data store")
        .response::<200, axum::Json<Vec<StoreVersionRecord>>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<VersionsQuery>,
) -> Result<Reply<Vec<StoreVersionRecord>>> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LISTED_VERSIONS).contains(&limit) {
        return Err(Error::invalid(format!(
            "The query parameter 'limit' must be from 1 to {MAX_LISTED_VERSIONS}."
        )));
    }
    let versions = app
        .stores
        .versions(&call.tenant()?, &path.store_id, query.snapshots_only, limit)
        .await?;
    Ok(Reply::ok(versions))
}
