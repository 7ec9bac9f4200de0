//! `GET /data/{store_id}/download`: returns a temporary link to a version as a file.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::{DownloadFormat, LINK_LIFETIME};
use platform::auth::permission::ReadStores;
use platform::http::openapi::problem;
use platform::http::{Call, Path, Query, Reply};
use platform::{ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::StorePath;

/// Which version to download, and as what.
#[derive(Deserialize, JsonSchema)]
pub struct DownloadQuery {
    /// Id of the version. Default: the current one.
    pub version_id: Option<String>,
    /// Form of the file. Default: `duckdb`.
    #[serde(default)]
    pub format: DownloadFormat,
}

/// A link to a file with one version of a data store.
#[derive(Serialize, JsonSchema)]
pub struct DownloadLink {
    /// Address of the file. It needs no credentials: anyone who has the link can read the file.
    pub url: String,
    /// Time for which `url` is valid, in seconds: 900.
    pub expires_in: u64,
    /// Id of the data store.
    pub store_id: String,
    /// Name of the data store.
    pub store_name: String,
    /// Number of the schema in this version.
    pub schema_version: u64,
    /// Id of the version in the file.
    pub version_id: String,
    /// Form of the file.
    pub format: DownloadFormat,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("downloadDataStore")
        .tag("data stores")
        .summary("Download a data store")
        .description(
            "Answers a link to a file with all tables of a version: to keep a copy, or to read all rows of a large table. A DuckDB \
             file has the descriptions of tables and columns as comments; keys and defaults are not declared in it.\n\n\
             The file of a version is built on its first download and kept, so later ones are fast. A version that takes longer to \
             build than a request has (24 seconds on AWS) is a 408. No audit record.",
        )
        .response::<200, axum::Json<DownloadLink>>()
        .with(problem(
            ErrorKind::NotFound,
            "The data store, or the version, does not exist.",
            "The version '0197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90' does not exist.",
        ))
        .with(problem(
            ErrorKind::Timeout,
            "The file could not be built in time.",
            "The file of this version could not be built within 24 seconds; read the version by queries.",
        ))
        .with(problem(
            ErrorKind::Unprocessable,
            "The version is too large for a download.",
            "This version is too large for a download; read it by queries, or download one with fewer rows.",
        ))
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<DownloadQuery>,
) -> Result<Reply<DownloadLink>> {
    let (tenant, store) = (call.tenant()?, &path.store_id);
    let loaded = app.load(&tenant, store, query.version_id.as_deref()).await?;
    let url = app.stores.download(&tenant, &loaded, query.format).await?;
    Ok(Reply::ok(DownloadLink {
        url,
        expires_in: LINK_LIFETIME.as_secs(),
        store_id: loaded.record.id,
        store_name: loaded.record.name,
        schema_version: loaded.manifest.schema_version,
        version_id: loaded.manifest.version_id.clone(),
        format: query.format,
    }))
}
