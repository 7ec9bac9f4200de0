//! `GET /data/{store_id}/tables/{table_name}`: a table with its columns and, on demand, some of its rows.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{TableDetail, TablePath};

/// Most rows of a sample.
const SAMPLE_ROWS: usize = 10;

/// What to show.
#[derive(Deserialize, JsonSchema)]
pub struct TableQuery {
    /// Whether to show up to 10 rows.
    #[serde(default)]
    pub sample: bool,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getTable")
        .tag("data stores")
        .summary("Read a table")
        .response::<200, axum::Json<TableDetail>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<TablePath>,
    Query(query): Query<TableQuery>,
) -> Result<Reply<TableDetail>> {
    let tenant = call.tenant()?;
    let loaded = app.stores.load(&tenant, &path.store_id).await?;
    let table = loaded.manifest.table(&path.table_name);
    let table = table.ok_or_else(|| Error::not_found("table", &path.table_name))?;
    let mut detail = TableDetail::new(table);
    if query.sample {
        detail.sample_rows = Some(app.stores.sample(&tenant, &loaded, table, SAMPLE_ROWS).await?);
    }
    Ok(Reply::ok(detail))
}
