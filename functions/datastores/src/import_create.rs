//! `POST /data/{store_id}/import`: imports rows into tables, all or none.

use std::collections::BTreeMap;

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use bytes::Bytes;
use lake::records::stores::{ImportMode, ImportStatus};
use lake::sources::RemoteFile;
use lake::store::{Import, ImportSource, ImportTable};
use lake::{FileFormat, Rounding};
use platform::auth::permission::WriteStores;
use platform::http::openapi::{answer_header, problem};
use platform::http::strict::{Fields, Only};
use platform::http::text::{MAX_TEXT_LENGTH, check_text};
use platform::http::{Call, Json, Path, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::App;
use crate::model::{StorePath, author};

/// Rows to import, and how.
#[derive(Deserialize, JsonSchema)]
pub struct ImportRequest {
    /// Source of the rows by the name of their table, in upper or lower case; at least one. The tables must
    /// exist.
    #[serde(deserialize_with = "strict::object_of_objects")]
    #[schemars(with = "BTreeMap<String, ImportTableSource>", extend("minProperties" = 1))]
    pub tables: BTreeMap<String, Only<TableSource>>,
    /// Treatment of the rows that are in the tables. Default: `append`.
    #[serde(default, deserialize_with = "strict::name")]
    pub mode: ImportMode,
    /// Rounding of digits after the point that a `DECIMAL`, `INTEGER` or `BIGINT` column does not keep, in
    /// all tables of the import. Default: none; such a value is a 422.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub rounding: Option<Rounding>,
    /// Reason for the version, at most 2,000 characters. Default: the number of rows by table.
    #[schemars(length(max = MAX_TEXT_LENGTH))]
    pub message: Option<String>,
    /// Whether to answer 202 at once and to import afterwards. Not with `inline`. Default: false.
    #[serde(default)]
    pub background: bool,
}

/// Fields of the whole import.
const OF_THE_IMPORT: [&str; 5] = ["tables", "mode", "rounding", "message", "background"];
/// Fields of the source of a table.
const OF_A_TABLE: [&str; 4] = ["source", "data", "uri", "format"];

impl Fields for ImportRequest {
    const KNOWN: &'static [&'static str] = &OF_THE_IMPORT;

    fn advice(field: &str) -> Option<String> {
        let field = field.to_ascii_lowercase();
        match OF_A_TABLE.contains(&field.as_str()) {
            true => Some(format!(
                "it belongs to a table: write it as tables.<table>.{field}"
            )),
            false => dialect(&field),
        }
    }
}

impl Fields for TableSource {
    const KNOWN: &'static [&'static str] = &OF_A_TABLE;

    fn advice(field: &str) -> Option<String> {
        let field = field.to_ascii_lowercase();
        match OF_THE_IMPORT.contains(&field.as_str()) {
            true => Some(format!(
                "it belongs to the whole import: write '{field}' beside 'tables'"
            )),
            false => dialect(&field),
        }
    }
}

/// Returns what to do about an option that other services have for CSV.
fn dialect(field: &str) -> Option<String> {
    let options = [
        "null",
        "delim",
        "skip",
        "separator",
        "sep",
        "quote",
        "escape",
        "header",
        "encoding",
        "compression",
        "nan",
        "na_",
        "dateformat",
        "date_format",
        "timestampformat",
    ];
    options.iter().any(|option| field.starts_with(option)).then(|| {
        "the form of a file is fixed: commas, double quotes, a header row, an empty field for null, UTF-8; change the \
         file"
            .to_owned()
    })
}

/// Source of a table's rows, as the caller sent it.
#[derive(Deserialize)]
pub struct TableSource {
    #[serde(deserialize_with = "strict::name")]
    source: SourceKind,
    data: Option<Box<RawValue>>,
    uri: Option<String>,
    #[serde(default, deserialize_with = "strict::optional_name")]
    format: Option<FileFormat>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SourceKind {
    Inline,
    Artifact,
    Url,
    S3,
    Gcs,
}

/// Source of a table's rows: the request itself, or a file.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "only its schema is used: serde does not read a `RawValue` of an untagged variant"
)]
enum ImportTableSource {
    Inline(InlineRows),
    File(ImportFile),
}

/// Rows in the request.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct InlineRows {
    /// Kind of the source: always `inline`.
    #[schemars(extend("const" = "inline"))]
    source: String,
    /// Rows as objects keyed by column name, in upper or lower case. A column that a row leaves out gets its
    /// default, else null.
    data: Vec<Map<String, Value>>,
}

/// Rows in a file.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ImportFile {
    /// Kind of the source.
    source: ImportFileKind,
    /// Place of the file, in the form that `source` asks for.
    uri: String,
    /// Format of the file. Default: by the ending of its name.
    format: Option<FileFormat>,
}

/// Where the file of an import is.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum ImportFileKind {
    /// A file among the project's artifacts; `uri` is its path of at most 700 bytes, such as `out/sales.csv`.
    Artifact,
    /// A file at a public address; `uri` is an https URL. Redirects are not followed.
    Url,
    /// An object in S3; `uri` is `s3://bucket/key`, in a place that the operator opened to imports.
    S3,
    /// An object in Google Cloud Storage; `uri` is `gs://bucket/object`, in a place that is open as for `s3`.
    Gcs,
}

/// An import that is complete, or that continues in the background.
#[derive(Serialize, JsonSchema)]
pub struct ImportResult {
    /// Id to read the import by.
    pub id: String,
    /// `COMPLETED` with 200; `PENDING` or `RUNNING` with 202.
    pub status: ImportStatus,
    /// Number of imported rows by table; empty while the import continues.
    pub rows_imported: BTreeMap<String, u64>,
    /// Id of the version that the import made; missing while it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::BulkUpdate, "data_store").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("importRows")
        .tag("imports")
        .summary("Import rows")
        .description(
            "Imports rows into one or more tables, in one version: all of them or none. Send some rows `inline`, many as a file. \
             Tables are not created, and types are not guessed: a value that its column cannot hold is a 422, never rounded or \
             cut; only digits after the point are rounded, and only if `rounding` asks for it. An import is not idempotent: without a unique key, the same rows sent twice are there twice.\n\n\
             Limits: a body of 5,500,000 bytes, files of 512 MiB together, in the background 4 GiB (2.8 GiB on AWS). A file is CSV, \
             JSON, newline-delimited JSON or Parquet; a text file can be compressed with gzip or zstd.\n\n\
             An import of files that takes longer than 20 seconds continues in the background and answers 202; read it at its \
             `location` until it is `COMPLETED` or `FAILED`. Rows in the request are waited for: each of their \
             steps, the reading of a table and the check of its keys, has 12 seconds on AWS. Then the answer is a 408, and no row is visible.\n\n\
             Side effects: a version, a record of the import, also of one that fails with 409 or 422, and an audit record of the \
             action `bulk_update`.",
        )
        .response_with::<202, axum::Json<ImportResult>, _>(|response| {
            response.description("The import continues in the background.")
        })
        .with(|operation| answer_header(operation, "location", "Path of the import."))
        .response_with::<200, axum::Json<ImportResult>, _>(|response| {
            response.description("The rows are in their tables.")
        })
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or the operator has not opened the place of an `s3` or `gcs` source.",
            "tables.orders.uri: imports may read nothing of S3 here; ask the operator to open a place by \
             MILLRACE_IMPORT_BUCKETS.",
        ))
        .with(problem(
            ErrorKind::NotFound,
            "The data store, or a table of the request, does not exist.",
            "The table 'orders' does not exist.",
        ))
        .with(problem(
            ErrorKind::Conflict,
            "Rows break a rule of their table: a key that occurs twice or is in the table, or a required column without a value. \
             No row is imported; `errors` lists the first 100 rows at fault, and `details` names the record of the import.",
            "Table 'orders', row 1: the primary key (id) = ('7') is already in the table. Row 1 is the first row of data.",
        ))
        .with(problem(
            ErrorKind::PayloadTooLarge,
            "The body, or an artifact, is too large.",
            "The file is larger than the 536870912 bytes that can be read.",
        ))
        .with(problem(
            ErrorKind::Unprocessable,
            "A value does not fit its column, a column is unknown, or a file cannot be fetched or read. No row is imported; \
             `errors` lists the first 100 rows at fault, also those that break a rule of their table, and `details` names the \
             record of the import.",
            "Table 'orders', row 2: column 'amount': 'twelve' is not a DECIMAL(10,2); write it with digits and a point alone, as 1234.5. Row 1 is the first row of data.",
        ))
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(Only(body)): Json<Only<ImportRequest>>,
) -> Result<Reply<ImportResult>> {
    check_text("message", body.message.as_deref())?;
    let tables = body
        .tables
        .into_iter()
        .map(|(table, Only(source))| table_source(table, source))
        .collect::<Result<_>>()?;
    let import = Import {
        tables,
        mode: body.mode,
        rounding: body.rounding,
        message: body.message,
        background: body.background,
    };
    let record = app
        .stores
        .import(&call.tenant()?, &author(&call.principal), &path.store_id, import)
        .await?;
    let goes_on = matches!(record.status, ImportStatus::Pending | ImportStatus::Running);
    let location = format!("/data/{}/import/{}", record.store_id, record.id);
    let response = ImportResult {
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

fn table_source(table: String, definition: TableSource) -> Result<ImportTable> {
    let (kind, name) = match definition.source {
        SourceKind::Inline => {
            let source = inline(&table, definition.data)?;
            return Ok(ImportTable { table, source });
        }
        SourceKind::Artifact => (None, "artifact"),
        SourceKind::Url => (Some(RemoteFile::Url as fn(String) -> RemoteFile), "url"),
        SourceKind::S3 => (Some(RemoteFile::S3 as fn(String) -> RemoteFile), "s3"),
        SourceKind::Gcs => (Some(RemoteFile::Gcs as fn(String) -> RemoteFile), "gcs"),
    };
    let uri = definition.uri.ok_or_else(|| missing(&table, "uri", name))?;
    // The query and fragment of a URL say nothing about the file format.
    let path = match definition.source {
        SourceKind::Url => uri.split(['?', '#']).next().unwrap_or_default(),
        _ => &uri,
    };
    let format = definition.format.or_else(|| FileFormat::of_name(path)).ok_or_else(|| {
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
