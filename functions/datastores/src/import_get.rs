//! `GET /data/{store_id}/import/{import_id}`: how far an import is, and how it ended.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Reply};
use platform::records::stores::ImportRecord;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;

/// The store and the import in the path.
#[derive(Deserialize, JsonSchema)]
pub struct ImportPath {
    /// The store's id.
    pub store_id: String,
    /// The import's id.
    pub import_id: String,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getImport")
        .tag("imports")
        .summary("Read an import")
        .response::<200, axum::Json<ImportRecord>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<ImportPath>,
) -> Result<Reply<ImportRecord>> {
    let tenant = call.tenant()?;
    let store = app.stores.records().get(&tenant, &path.store_id).await?;
    Ok(Reply::ok(
        app.stores
            .records()
            .import(&tenant, &store.id, &path.import_id)
            .await?,
    ))
}
