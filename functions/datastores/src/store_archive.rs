//! `DELETE /data/{store_id}`: archives a store.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::DeleteStores;
use platform::http::{Call, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Platform, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::{StorePath, author};

/// The data store or dashboard that was archived.
#[derive(Serialize, JsonSchema)]
pub struct ArchivedResource {
    /// The same as in the path.
    pub id: String,
    /// Status from now on: always `archived`.
    #[schemars(extend("const" = "archived"))]
    pub status: &'static str,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Delete, "data_store").on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("archiveDataStore")
        .tag("data stores")
        .summary("Archive a data store")
        .description(
            "Takes a data store out of use: from now on every path below it is a 404, and no list shows it. Its name is free for \
             another one. Its versions and files stay in storage, but there is no operation that restores it.\n\n\
             Side effects: an audit record of the action `delete`.",
        )
        .response::<200, axum::Json<ArchivedResource>>()
}

async fn handler(
    call: Call<DeleteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
) -> Result<Reply<ArchivedResource>> {
    app.stores
        .archive(&call.tenant()?, &author(&call.principal), &path.store_id)
        .await?;
    Ok(Reply::ok(ArchivedResource {
        id: path.store_id,
        status: "archived",
    }))
}
