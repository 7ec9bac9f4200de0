//! `GET /data/{store_id}/tables/{table_name}`: returns a table with its columns and, on request, some of its
//! rows.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::ReadStores;
use platform::http::openapi::problem;
use platform::http::{Call, Path, Query, Reply};
use platform::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{Table, TablePath};

const SAMPLE_ROWS: usize = 10;

/// How much of the table to show.
#[derive(Deserialize, JsonSchema)]
pub struct TableQuery {
    /// Whether to show up to 10 rows, which takes as long as a query. Default: false.
    #[serde(default)]
    pub sample: bool,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getTable")
        .tag("data stores")
        .summary("Read a table")
        .description(
            "Answers a table of the current version with the definitions of its columns, on demand with some of its rows. To choose \
             rows, use `queryDataStore`.",
        )
        .response::<200, axum::Json<Table>>()
        .with(problem(
            ErrorKind::Unprocessable,
            "The sample needs more memory than a query may have, or is larger than 5.5 MB.",
            "The answer is larger than 5.5 MB; lower 'limit', select fewer columns, or aggregate.",
        ))
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<TablePath>,
    Query(query): Query<TableQuery>,
) -> Result<Reply<Table>> {
    let tenant = call.tenant()?;
    let loaded = app.stores.load(&tenant, &path.store_id).await?;
    let table = loaded.manifest.table(&path.table_name);
    let table = table.ok_or_else(|| Error::not_found("table", &path.table_name))?;
    let mut detail = Table::new(table);
    if query.sample {
        detail.sample_rows = Some(app.stores.sample(&tenant, &loaded, table, SAMPLE_ROWS).await?);
    }
    Ok(Reply::ok(detail))
}
