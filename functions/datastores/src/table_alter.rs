//! `PUT /data/{store_id}/tables/{table_name}`: changes the columns of a table, all or nothing.
//!
//! Applied in the order drop, rename, modify, add. Adding, dropping, renaming and widening cost the same at any size; another
//! type rewrites the table's files.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::alteration::{ColumnChange, ColumnRename, TableAlteration};
use lake::schema::Column;
use platform::auth::permission::WriteStores;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, check_text};
use platform::http::{Call, Json, Path, Reply, strict};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{TableDetail, TablePath, author};

/// Changes of a table.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AlterTable {
    /// New columns, after those that are there.
    #[serde(deserialize_with = "strict::objects")]
    pub add_columns: Vec<Column>,
    /// Names of columns to drop.
    pub drop_columns: Vec<String>,
    /// New names, all at once: two columns can swap theirs.
    #[serde(deserialize_with = "strict::objects")]
    pub rename_columns: Vec<ColumnRename>,
    /// Changes of columns, under their new names; what is left out of one stays.
    #[serde(deserialize_with = "strict::objects")]
    pub modify_columns: Vec<ColumnChange>,
    /// What the table holds, in words; null takes it away.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Why, for the version that this makes.
    pub message: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("alterTable")
        .tag("data stores")
        .summary("Alter a table")
        .response::<200, axum::Json<TableDetail>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<TablePath>,
    Json(body): Json<AlterTable>,
) -> Result<Reply<TableDetail>> {
    check_text("message", body.message.as_deref())?;
    let alteration = TableAlteration {
        description: body.description,
        drop_columns: body.drop_columns,
        rename_columns: body.rename_columns,
        modify_columns: body.modify_columns,
        add_columns: body.add_columns,
    };
    let (tenant, author) = (call.tenant()?, author(&call.principal));
    let (store, table) = (&path.store_id, &path.table_name);
    let altered = app
        .stores
        .alter_table(&tenant, &author, store, table, &alteration, body.message)
        .await?;
    let table = altered.manifest.table(table);
    let table = table.ok_or_else(|| Error::internal("the altered table is not in its version"))?;
    Ok(Reply::ok(TableDetail::new(table)))
}
