//! `GET /data/{store_id}/import/{import_id}`: returns the progress or the result of an import.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::records::stores::ImportRecord;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Reply};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;

/// The path of an import.
#[derive(Deserialize, JsonSchema)]
pub struct ImportPath {
    /// Id of the data store.
    pub store_id: String,
    /// Id of the import.
    pub import_id: String,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getImport")
        .tag("imports")
        .summary("Read an import")
        .description(
            "Answers how far an import is and how it ended. Ask for an import in the background every few seconds until its status \
             is `COMPLETED` or `FAILED`. An import that a crash cut short while its request waited has no record: it is a 404, \
             and no row of it is visible.",
        )
        .response::<200, axum::Json<ImportRecord>>()
}

async fn handler(
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
