//! `POST /data/{store_id}/import`: rows into tables, all of them or none.

use std::collections::BTreeMap;

use aide::transform::TransformOperation;
use axum::extract::State;
use bytes::Bytes;
use lake::FileFormat;
use lake::store::{Import, ImportSource, ImportTable};
use platform::auth::permission::WriteStores;
use platform::http::text::check_text;
use platform::http::{Call, Json, Path, Reply, strict};
use platform::records::stores::{ImportMode, ImportStatus};
use platform::sources::RemoteFile;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::App;
use crate::model::{StorePath, author};

/// An import.
#[derive(Deserialize, JsonSchema)]
pub struct ImportRequest {
    /// What goes into which table.
    #[serde(deserialize_with = "strict::object_of_objects")]
    pub tables: BTreeMap<String, TableSource>,
    /// Whether the rows that are there stay.
    #[serde(default, deserialize_with = "strict::name")]
    pub mode: ImportMode,
    /// Why, for the version that this makes.
    pub message: Option<String>,
    /// Whether it runs after this request is answered, with 202; for files of up to 4 GiB. Not for `inline`.
    #[serde(default)]
    pub background: bool,
}

/// Where the rows of a table are.
#[derive(Deserialize, JsonSchema)]
pub struct TableSource {
    /// `inline`, `artifact`, `url`, `s3` or `gcs`.
    #[serde(deserialize_with = "strict::name")]
    pub source: SourceKind,
    /// For `inline`: the rows, objects keyed by column name.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub data: Option<Box<RawValue>>,
    /// For `artifact`: the file's path, such as `out/sales.csv`. For `url`: an https URL. For `s3` and `gcs`: `s3://bucket/key`
    /// and `gs://bucket/object`, in a place that the operator opened to imports.
    pub uri: Option<String>,
    /// The file's format; by its name's ending where it is left out.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub format: Option<FileFormat>,
}

/// A kind of source.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// In the request.
    Inline,
    /// A file among the project's artifacts.
    Artifact,
    /// A file at an https URL.
    Url,
    /// An object in S3.
    S3,
    /// An object in Google Cloud Storage.
    Gcs,
}

/// An import that is done, or that goes on.
#[derive(Serialize, JsonSchema)]
pub struct ImportResponse {
    /// Its id.
    pub id: String,
    /// `COMPLETED`; with 202 `PENDING` or `RUNNING`.
    pub status: ImportStatus,
    /// Rows imported, by table.
    pub rows_imported: BTreeMap<String, u64>,
    /// The version that it made; missing while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("importRows")
        .tag("imports")
        .summary("Import rows")
        .response::<200, axum::Json<ImportResponse>>()
        .response::<202, axum::Json<ImportResponse>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<ImportRequest>,
) -> Result<Reply<ImportResponse>> {
    check_text("message", body.message.as_deref())?;
    let tables = body
        .tables
        .into_iter()
        .map(|(table, source)| table_source(table, source))
        .collect::<Result<_>>()?;
    let import = Import {
        tables,
        mode: body.mode,
        message: body.message,
        background: body.background,
    };
    let record = app
        .stores
        .import(&call.tenant()?, &author(&call.principal), &path.store_id, import)
        .await?;
    let goes_on = matches!(record.status, ImportStatus::Pending | ImportStatus::Running);
    let location = format!("/data/{}/import/{}", record.store_id, record.id);
    let response = ImportResponse {
        id: record.id,
        status: record.status,
        rows_imported: record.rows_imported,
        version_id: record.version_id,
    };
    Ok(if goes_on {
        Reply::accepted(&location, response)
    } else {
        Reply::ok(response)
    })
}

fn table_source(table: String, given: TableSource) -> Result<ImportTable> {
    let (kind, name) = match given.source {
        SourceKind::Inline => {
            let source = inline(&table, given.data)?;
            return Ok(ImportTable { table, source });
        }
        SourceKind::Artifact => (None, "artifact"),
        SourceKind::Url => (Some(RemoteFile::Url as fn(String) -> RemoteFile), "url"),
        SourceKind::S3 => (Some(RemoteFile::S3 as fn(String) -> RemoteFile), "s3"),
        SourceKind::Gcs => (Some(RemoteFile::Gcs as fn(String) -> RemoteFile), "gcs"),
    };
    let uri = given.uri.ok_or_else(|| missing(&table, "uri", name))?;
    // What follows the path of a URL says nothing about the file.
    let path = match given.source {
        SourceKind::Url => uri.split(['?', '#']).next().unwrap_or_default(),
        _ => &uri,
    };
    let format = given.format.or_else(|| FileFormat::of_name(path)).ok_or_else(|| {
        Error::invalid(format!(
            "The ending of tables.{table}.uri does not tell its format; set tables.{table}.format to \"csv\", \
             \"json\", \"ndjson\" or \"parquet\"."
        ))
    })?;
    let source = match kind {
        Some(file) => ImportSource::Remote {
            file: file(uri),
            format,
        },
        None => ImportSource::Artifact { path: uri, format },
    };
    Ok(ImportTable { table, source })
}

fn inline(table: &str, rows: Option<Box<RawValue>>) -> Result<ImportSource> {
    let rows = rows.ok_or_else(|| missing(table, "data", "inline"))?;
    let rows = String::from(Box::<str>::from(rows));
    if !rows.trim_start().starts_with('[') {
        return Err(Error::invalid(format!(
            "The body is not as it must be at $.tables.{table}.data: expected an array of row objects."
        )));
    }
    Ok(ImportSource::Inline(Bytes::from(rows)))
}

fn missing(table: &str, field: &str, source: &str) -> Error {
    Error::invalid(format!(
        "The field tables.{table}.{field} is missing; the source \"{source}\" needs it."
    ))
}
