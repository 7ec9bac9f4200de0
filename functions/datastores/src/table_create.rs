//! `POST /data/{store_id}/tables`: creates tables, all or none.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::plan::MAX_TABLES;
use lake::schema::TableDefinition;
use platform::auth::permission::WriteStores;
use platform::http::openapi::{answer_header, problem};
use platform::http::text::{MAX_TEXT_LENGTH, check_text};
use platform::http::{Call, Json, Path, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{StorePath, Table, author};

/// Tables to create together.
#[derive(Deserialize, JsonSchema)]
pub struct CreateTables {
    /// Definitions of 1 to 2,000 tables.
    #[serde(deserialize_with = "strict::objects")]
    #[schemars(length(min = 1, max = MAX_TABLES))]
    pub tables: Vec<TableDefinition>,
    /// Reason for the version, at most 2,000 characters. Default: a sentence with the tables' names.
    #[schemars(length(max = MAX_TEXT_LENGTH))]
    pub message: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "data_store").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createTables")
        .tag("data stores")
        .summary("Create tables")
        .description(
            "Creates empty tables, all or none, in one version. It changes no existing table: a taken name is a 409. Rows come with \
             `importRows`; an existing table is changed by `alterTable`.\n\n\
             A data store has at most 2,000 tables, 20,000 columns, and 2 MB of names, descriptions and defaults; beyond these limits \
             the request is a 400.\n\n\
             Side effects: a version, and an audit record of the action `update`.",
        )
        .response_with::<201, axum::Json<Vec<Table>>, _>(|response| {
            response.description("The new tables, in the order of the request.")
        })
        .with(|operation| answer_header(operation, "location", "Path of the list of tables."))
        .with(problem(
            ErrorKind::Conflict,
            "A table has one of the names, without regard to case. No table is created.",
            "A table named 'orders' exists already.",
        ))
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<CreateTables>,
) -> Result<Reply<Vec<Table>>> {
    check_text("message", body.message.as_deref())?;
    let store = &path.store_id;
    let author = author(&call.principal);
    let loaded = app
        .stores
        .create_tables(&call.tenant()?, &author, store, &body.tables, body.message)
        .await?;
    let new = body
        .tables
        .iter()
        .filter_map(|table| loaded.manifest.table(&table.name));
    let details = new.map(Table::new).collect();
    Ok(Reply::created(store, &format!("/data/{store}/tables"), details))
}
