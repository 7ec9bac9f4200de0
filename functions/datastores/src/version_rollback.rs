//! `POST /data/{store_id}/versions/{version_id}/rollback`: makes a new version with the content of an earlier
//! one.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::WriteStores;
use platform::http::{Call, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Platform, Result};

use crate::App;
use crate::model::{DataStore, VersionPath, author};

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "data_store").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("rollBackDataStore")
        .tag("data stores")
        .summary("Roll a data store back to a version")
        .description(
            "Makes the content of an earlier version, or of a snapshot, the current one again: schema and rows. It is a new version, so \
             the history keeps all others, and a rollback can be rolled back. Name, description and tags of the store stay. \
             Dashboards do not change, even if their tables are gone.\n\n\
             Side effects: a version, and an audit record of the action `update`. `schema_version` rises by one if the schema \
             differs.",
        )
        .response_with::<200, axum::Json<DataStore>, _>(|response| {
            response.description("The data store after the rollback.")
        })
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<VersionPath>,
) -> Result<Reply<DataStore>> {
    let author = author(&call.principal);
    let loaded = app
        .stores
        .roll_back(&call.tenant()?, &author, &path.store_id, &path.version_id)
        .await?;
    Ok(Reply::ok(DataStore::new(&loaded)))
}
