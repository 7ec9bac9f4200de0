//! `PUT /data/{store_id}/schema`: changes the whole schema in one request, all or nothing.
//!
//! The order is: drop tables, create and change tables, replace relationships. Whatever the request does not
//! name stays, so sending back an older copy of the schema removes nothing.

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::manifest::Relationship;
use lake::plan::MAX_TABLES;
use lake::schema::update::{MAX_RELATIONSHIPS, SchemaUpdate, TableUpdate};
use platform::auth::permission::{DeleteStores, Required as _, WriteStores};
use platform::http::openapi::problem;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_TEXT_LENGTH, check_text};
use platform::http::{Call, Json, Path, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{FullSchema, StorePath, author};

/// Changes of the schema, at least one. What is left out stays.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateSchema {
    /// New purpose of the schema, for people, at most 10,000 characters; null removes it.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Tables to create or to change, at most 2,000, each named once. Tables and columns that are left out
    /// stay.
    #[serde(deserialize_with = "strict::objects")]
    #[schemars(length(max = MAX_TABLES))]
    pub tables: Vec<TableUpdate>,
    /// All relationships from now on, at most 5,000; an empty list removes them. Default: no change.
    #[serde(deserialize_with = "strict::given_objects")]
    #[schemars(with = "Vec<Relationship>", length(max = MAX_RELATIONSHIPS))]
    pub relationships: Option<Vec<Relationship>>,
    /// Names of tables to drop, at most 2,000. This needs the permission `content:delete`.
    #[schemars(length(max = MAX_TABLES))]
    pub drop_tables: Vec<String>,
    /// Reason for the version, at most 2,000 characters. Default: a list of the first three changes.
    #[schemars(length(max = MAX_TEXT_LENGTH))]
    pub message: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "data_store").on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updateSchema")
        .tag("data stores")
        .summary("Update the schema of a data store")
        .description(
            "Changes several tables and the relationships in one version, all or nothing, in the order: drop tables, create and \
             change tables, replace relationships. A schema that was read and sent back with changes takes nothing away: a table or \
             column that it leaves out stays, as does a field of a column. Columns are not dropped or renamed here; `alterTable` \
             does that.\n\n\
             A data store has at most 2,000 tables, 20,000 columns, 5,000 relationships, and 2 MB of names, descriptions and \
             defaults; beyond these limits the update is a 400. A change of a type can rewrite the files of the table, so it takes \
             longer the more rows there are.\n\n\
             Side effects: a version, unless nothing changes, and an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<FullSchema>, _>(|response| {
            response.description("The schema after the update, in the format `full`.")
        })
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or names tables to drop without `content:delete`.",
            "This needs the permission content:delete.",
        ))
        .with(problem(
            ErrorKind::NotFound,
            "The data store, or a table of `drop_tables`, does not exist.",
            "The table 'orders' does not exist.",
        ))
        .with(problem(
            ErrorKind::Conflict,
            "The rows of a table break a new rule of a column, a new column needs a value that its rows do not have, or a \
             relationship that stays names what would be dropped. Nothing is changed.",
            "Table 'orders' has rows, which would have no value in the new column 'city'; give it a default, or make it nullable.",
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
    Path(path): Path<StorePath>,
    Json(body): Json<UpdateSchema>,
) -> Result<Reply<FullSchema>> {
    if !body.drop_tables.is_empty() {
        call.principal.require(DeleteStores::ANY_OF)?;
    }
    check_text("message", body.message.as_deref())?;
    let update = SchemaUpdate {
        description: body.description,
        tables: body.tables,
        relationships: body.relationships,
        drop_tables: body.drop_tables,
    };
    let (tenant, author) = (call.tenant()?, author(&call.principal));
    let updated = app
        .stores
        .update_schema(&tenant, &author, &path.store_id, &update, body.message)
        .await?;
    Ok(Reply::ok(FullSchema::new(&updated)))
}
