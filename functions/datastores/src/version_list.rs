//! `GET /data/{store_id}/versions`: lists the versions of a store, newest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::MAX_LISTED_VERSIONS;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply};
use platform::records::stores::StoreVersion;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::StorePath;

const DEFAULT_LIMIT: usize = 50;

/// Which versions to answer.
#[derive(Deserialize, JsonSchema)]
pub struct VersionsQuery {
    /// Whether to answer snapshots alone. Default: false.
    #[serde(default)]
    pub snapshots_only: bool,
    /// Most versions to answer. Default: 50.
    #[schemars(range(min = 1, max = MAX_LISTED_VERSIONS))]
    pub limit: Option<usize>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listStoreVersions")
        .tag("data stores")
        .summary("List the versions of a data store")
        .description(
            "Answers the versions of a data store, newest first. Every import, every change of the schema, every snapshot, rollback \
             and compaction makes one. There are no pages: at most the newest 1,000 can be listed. Where the operator collects old \
             versions, those that were collected are missing; snapshots and the current version stay.",
        )
        .response_with::<200, axum::Json<Vec<StoreVersion>>, _>(|response| {
            response.description("The versions, newest first.")
        })
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<VersionsQuery>,
) -> Result<Reply<Vec<StoreVersion>>> {
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
