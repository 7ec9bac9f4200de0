//! `GET /data/{store_id}/download`: a version as a file, behind a link that holds for a while.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::{DownloadFormat, LINK_LIFETIME};
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::text::check_resource_id;
use platform::http::{Call, Path, Query, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::StorePath;

/// What to download.
#[derive(Deserialize, JsonSchema)]
pub struct DownloadQuery {
    /// The version; the current one where it is left out.
    pub version_id: Option<String>,
    /// The form; `duckdb` where it is left out.
    #[serde(default)]
    pub format: Form,
}

/// The form of a download.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A DuckDB database file.
    #[default]
    DuckDb,
    /// A zip archive with a Parquet file for each table.
    Parquet,
}

/// A link to a file.
#[derive(Serialize, JsonSchema)]
pub struct DownloadResponse {
    /// The link; it needs no credentials.
    pub url: String,
    /// How long it holds, in seconds.
    pub expires_in: u64,
    /// The store.
    pub store_id: String,
    /// Its name.
    pub store_name: String,
    /// The version's schema version.
    pub schema_version: u64,
    /// The version.
    pub version_id: String,
    /// The form.
    pub format: Form,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("downloadDataStore")
        .tag("data stores")
        .summary("Download a data store")
        .response::<200, axum::Json<DownloadResponse>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<DownloadQuery>,
) -> Result<Reply<DownloadResponse>> {
    let (tenant, store) = (call.tenant()?, &path.store_id);
    let loaded = match &query.version_id {
        Some(version) => {
            check_resource_id("version_id", version)?;
            app.stores.load_version(&tenant, store, version).await?
        }
        None => app.stores.load(&tenant, store).await?,
    };
    let format = match query.format {
        Form::DuckDb => DownloadFormat::DuckDb,
        Form::Parquet => DownloadFormat::Parquet,
    };
    let url = app.stores.download(&tenant, &loaded, format).await?;
    Ok(Reply::ok(DownloadResponse {
        url,
        expires_in: LINK_LIFETIME.as_secs(),
        store_id: loaded.record.id,
        store_name: loaded.record.name,
        schema_version: loaded.manifest.schema_version,
        version_id: loaded.manifest.version_id.clone(),
        format: query.format,
    }))
}
