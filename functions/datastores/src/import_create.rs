//! `POST /data/{store_id}/import`: rows into tables, all of them or none.

use std::collections::BTreeMap;

use aide::transform::TransformOperation;
use axum::extract::State;
use bytes::Bytes;
use lake::FileFormat;
use lake::store::{Import, ImportSource, ImportTable};
use platform::auth::permission::WriteStores;
use platform::http::openapi::with_errors;
use platform::http::text::check_text;
use platform::http::{Call, Json, Path, Reply, strict};
use platform::records::stores::{ImportMode, ImportStatus};
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
}

/// Where the rows of a table are.
#[derive(Deserialize, JsonSchema)]
pub struct TableSource {
    /// `inline` or `artifact`.
    #[serde(deserialize_with = "strict::name")]
    pub source: SourceKind,
    /// For `inline`: the rows, objects keyed by column name.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub data: Option<Box<RawValue>>,
    /// For `artifact`: the file's path, such as `out/sales.csv`.
    pub uri: Option<String>,
    /// For `artifact`: the file's format; by the path's ending where it is left out.
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
}

/// An import that is done.
#[derive(Serialize, JsonSchema)]
pub struct ImportResponse {
    /// Its id.
    pub id: String,
    /// `COMPLETED`.
    pub status: ImportStatus,
    /// Rows imported, by table.
    pub rows_imported: BTreeMap<String, u64>,
    /// The version that it made.
    pub version_id: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("import_create")
        .tag("data stores")
        .summary("Import rows")
        .response::<200, axum::Json<ImportResponse>>()
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
    };
    let done = app
        .stores
        .import(&call.tenant()?, &author(&call.principal), &path.store_id, import)
        .await?;
    Ok(Reply::ok(ImportResponse {
        id: done.id,
        status: done.status,
        rows_imported: done.rows_imported,
        version_id: done.version_id,
    }))
}

fn table_source(table: String, given: TableSource) -> Result<ImportTable> {
    let missing = |field: &str, source: &str| {
        Error::invalid(format!(
            "The field tables.{table}.{field} is missing; the source \"{source}\" needs it."
        ))
    };
    let source = match given.source {
        SourceKind::Inline => {
            let rows = given.data.ok_or_else(|| missing("data", "inline"))?;
            let rows = String::from(Box::<str>::from(rows));
            if !rows.trim_start().starts_with('[') {
                return Err(Error::invalid(format!(
                    "The body is not as it must be at $.tables.{table}.data: expected an array of row objects."
                )));
            }
            ImportSource::Inline(Bytes::from(rows))
        }
        SourceKind::Artifact => {
            let path = given.uri.ok_or_else(|| missing("uri", "artifact"))?;
            let format = given.format.or_else(|| FileFormat::of_name(&path)).ok_or_else(|| {
                Error::invalid(format!(
                    "The ending of tables.{table}.uri does not tell its format; set tables.{table}.format to \"csv\", \
                     \"json\", \"ndjson\" or \"parquet\"."
                ))
            })?;
            ImportSource::Artifact { path, format }
        }
    };
    Ok(ImportTable { table, source })
}
