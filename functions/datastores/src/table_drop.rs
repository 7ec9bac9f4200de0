//! `DELETE /data/{store_id}/tables/{table_name}`: drops a table. Earlier versions keep it.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::DeleteStores;
use platform::http::{Call, Path, Reply};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::{TablePath, author};

/// What was dropped.
#[derive(Serialize, JsonSchema)]
pub struct Dropped {
    /// The table's name.
    pub dropped: String,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("dropTable")
        .tag("data stores")
        .summary("Drop a table")
        .response::<200, axum::Json<Dropped>>()
}

pub async fn handler(
    call: Call<DeleteStores>,
    State(app): State<App>,
    Path(path): Path<TablePath>,
) -> Result<Reply<Dropped>> {
    let (tenant, author) = (call.tenant()?, author(&call.principal));
    let dropped = app
        .stores
        .drop_table(&tenant, &author, &path.store_id, &path.table_name)
        .await?;
    Ok(Reply::ok(Dropped { dropped }))
}
