//! `POST /data/{store_id}/tables`: new tables, all or none.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::schema::TableDefinition;
use platform::Result;
use platform::auth::permission::WriteStores;
use platform::http::text::check_text;
use platform::http::{Call, Json, Path, Reply, strict};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{StorePath, TableDetail, author};

/// New tables.
#[derive(Deserialize, JsonSchema)]
pub struct CreateTables {
    /// The tables.
    #[serde(deserialize_with = "strict::objects")]
    pub tables: Vec<TableDefinition>,
    /// Why, for the version that this makes.
    pub message: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createTables")
        .tag("data stores")
        .summary("Create tables")
        .response::<201, axum::Json<Vec<TableDetail>>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<CreateTables>,
) -> Result<Reply<Vec<TableDetail>>> {
    check_text("message", body.message.as_deref())?;
    let store = &path.store_id;
    let author = author(&call.principal);
    let made = app
        .stores
        .create_tables(&call.tenant()?, &author, store, &body.tables, body.message)
        .await?;
    let new = body
        .tables
        .iter()
        .filter_map(|table| made.manifest.table(&table.name));
    let details = new.map(TableDetail::new).collect();
    Ok(Reply::created(store, &format!("/data/{store}/tables"), details))
}
