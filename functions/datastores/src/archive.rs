//! `DELETE /data/{store_id}`: archives a store.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::DeleteStores;
use platform::http::{Call, Path, Reply};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::{StorePath, author};

/// What was archived.
#[derive(Serialize, JsonSchema)]
pub struct Archived {
    /// Its id.
    pub id: String,
    /// Always `archived`.
    pub status: &'static str,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("archiveDataStore")
        .tag("data stores")
        .summary("Archive a data store")
        .response::<200, axum::Json<Archived>>()
}

pub async fn handler(
    call: Call<DeleteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
) -> Result<Reply<Archived>> {
    app.stores
        .archive(&call.tenant()?, &author(&call.principal), &path.store_id)
        .await?;
    Ok(Reply::ok(Archived {
        id: path.store_id,
        status: "archived",
    }))
}
