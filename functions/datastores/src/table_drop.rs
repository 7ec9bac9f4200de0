//! `DELETE /data/{store_id}/tables/{table_name}`: drops a table. Earlier versions keep it.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::DeleteStores;
use platform::http::openapi::problem;
use platform::http::{Call, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::{TablePath, author};

/// The table that was dropped.
#[derive(Serialize, JsonSchema)]
pub struct DroppedTable {
    /// Name of the table, in the case in which it was created.
    pub dropped: String,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "data_store").on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("dropTable")
        .tag("data stores")
        .summary("Drop a table")
        .description(
            "Removes a table and its rows from the next version on. Earlier versions keep them: `queryStoreVersion` reads them, and \
             `rollBackDataStore` brings the table back.\n\n\
             Side effects: a version, and an audit record of the action `update`.",
        )
        .response::<200, axum::Json<DroppedTable>>()
        .with(problem(
            ErrorKind::Conflict,
            "A relationship names a column of the table.",
            "The relationship orders.customer_id → customers.id names 'customers.id', which would be dropped; take it out of the \
             schema's 'relationships' first, or in the same update of the schema.",
        ))
}

async fn handler(
    call: Call<DeleteStores>,
    State(app): State<App>,
    Path(path): Path<TablePath>,
) -> Result<Reply<DroppedTable>> {
    let (tenant, author) = (call.tenant()?, author(&call.principal));
    let dropped = app
        .stores
        .drop_table(&tenant, &author, &path.store_id, &path.table_name)
        .await?;
    Ok(Reply::ok(DroppedTable { dropped }))
}
