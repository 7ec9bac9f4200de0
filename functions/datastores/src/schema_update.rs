//! `PUT /data/{store_id}/schema`: changes the whole schema in one request, all or nothing.
//!
//! Applied in the order drop tables, create and change tables, replace relationships. What is not named stays, so that a
//! schema that was read some time ago and sent back takes nothing away.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::manifest::Relationship;
use lake::schema_update::{SchemaUpdate, TableUpdate};
use platform::Result;
use platform::auth::permission::{DeleteStores, Required as _, WriteStores};
use platform::http::text::{MAX_DESCRIPTION_LENGTH, check_text};
use platform::http::{Call, Json, Path, Reply, strict};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::App;
use crate::model::{FullSchema, StorePath, author};

/// Changes of the schema.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateSchema {
    /// What the schema is for; null takes it away.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Tables that are created or get the differences; columns that are left out stay.
    #[serde(deserialize_with = "strict::objects")]
    pub tables: Vec<TableUpdate>,
    /// All relationships from now on.
    #[serde(deserialize_with = "given_objects")]
    pub relationships: Option<Vec<Relationship>>,
    /// Tables to drop; that needs the permission content:delete.
    pub drop_tables: Vec<String>,
    /// Why, for the version that this makes.
    pub message: Option<String>,
}

fn given_objects<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Relationship>>, D::Error> {
    strict::objects(deserializer).map(Some)
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updateSchema")
        .tag("data stores")
        .summary("Update the schema of a data store")
        .response::<200, axum::Json<FullSchema>>()
}

pub async fn handler(
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
