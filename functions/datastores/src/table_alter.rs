//! `PUT /data/{store_id}/tables/{table_name}`: changes the columns of a table, all or nothing.
//!
//! The order is: drop, rename, modify, add. Adding, dropping, renaming and widening cost the same at any
//! table size; any other change of type rewrites the table's files.

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::alteration::{ColumnChange, ColumnRename, TableAlteration};
use lake::schema::{Column, MAX_COLUMNS};
use platform::auth::permission::WriteStores;
use platform::http::openapi::problem;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_TEXT_LENGTH, check_text};
use platform::http::{Call, Json, Path, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{Table, TablePath, author};

/// Changes of a table, at least one. What is left out stays.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AlterTable {
    /// New columns, placed after the others; at most 2,000.
    #[serde(deserialize_with = "strict::objects")]
    #[schemars(length(max = MAX_COLUMNS))]
    pub add_columns: Vec<Column>,
    /// Names of columns to drop, each once; at most 2,000.
    #[schemars(length(max = MAX_COLUMNS))]
    pub drop_columns: Vec<String>,
    /// New names, at most 2,000, given at the same time: two columns can swap their names.
    #[serde(deserialize_with = "strict::objects")]
    #[schemars(length(max = MAX_COLUMNS))]
    pub rename_columns: Vec<ColumnRename>,
    /// Changes of columns, at most 2,000. A renamed column stands here under its new name.
    #[serde(deserialize_with = "strict::objects")]
    #[schemars(length(max = MAX_COLUMNS))]
    pub modify_columns: Vec<ColumnChange>,
    /// New meaning of a row, for people, at most 10,000 characters; null removes it.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Reason for the version, at most 2,000 characters. Default: a list of the first three changes.
    #[schemars(length(max = MAX_TEXT_LENGTH))]
    pub message: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "data_store").on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("alterTable")
        .tag("data stores")
        .summary("Alter a table")
        .description(
            "Changes the columns of one table, all or nothing, in the order drop, rename, modify, add. A table cannot be renamed. To \
             change several tables in one version, use `updateSchema`.\n\n\
             To add, drop, rename or widen a column costs the same at any number of rows. Wider are: an INTEGER as BIGINT or \
             DOUBLE, an INTEGER, BIGINT or DECIMAL as a DECIMAL with enough digits, a FLOAT as DOUBLE, a JSON as STRING. Any other \
             change of a type, and a new column with the default `uuid()`, rewrites the table's files. Rows that are there get the \
             default of a new column, with the time of this change for `current_timestamp` and `current_date`.\n\n\
             Side effects: a version, unless nothing changes, and an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<Table>, _>(|response| response.description("The table after the change."))
        .with(problem(
            ErrorKind::NotFound,
            "The data store, the table or a column of the request does not exist.",
            "The column 'orders.city' does not exist.",
        ))
        .with(problem(
            ErrorKind::Conflict,
            "A column's name is taken, the rows break a new rule of a column, a new column needs a value that the rows do not have, \
             or a relationship names a column to drop. Nothing is changed.",
            "Table 'orders': the value (id) = ('7') occurs more than once, so (id) cannot be the primary key.",
        ))
        .with(problem(
            ErrorKind::Unprocessable,
            "Values do not convert to the new type of their column. `details` lists the first ten, and nothing is changed.",
            "Table 'orders', row 3: column 'amount': 'abc' does not convert to DOUBLE. Nothing was changed.",
        ))
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<TablePath>,
    Json(body): Json<AlterTable>,
) -> Result<Reply<Table>> {
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
    Ok(Reply::ok(Table::new(table)))
}
