//! `GET /data/{store_id}/schema`: returns the schema, whole or as a summary for a language model.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::ReadStores;
use platform::http::openapi::problem;
use platform::http::{Call, Path, Query, Reply};
use platform::{ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::ai_schema::AiSchema;
use crate::model::{FullSchema, StorePath};

/// How to show the schema.
#[derive(Deserialize, JsonSchema)]
pub struct SchemaQuery {
    /// Form of the answer. Default: `full`.
    #[serde(default)]
    pub format: SchemaFormat,
    /// Id of the version whose schema to answer. Default: the current version.
    pub version_id: Option<String>,
}

/// A form in which a schema is answered.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchemaFormat {
    /// All fields, as `FullSchema`.
    #[default]
    Full,
    /// Names and types alone, as `AiSchema`: short enough for the prompt of a language model.
    Ai,
}

/// The schema in the requested form.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum StoreSchema {
    Full(FullSchema),
    Ai(AiSchema),
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getSchema")
        .tag("data stores")
        .summary("Read the schema of a data store")
        .description(
            "Answers tables, columns and relationships of a version: as `full` with all that `updateSchema` takes and the number of \
             rows, or as `ai` in a short form to write queries by. To compare two versions, ask for the schema of each; \
             `listSchemaChanges` tells how it came to be.",
        )
        .response::<200, axum::Json<StoreSchema>>()
        .with(problem(
            ErrorKind::NotFound,
            "The data store, or the version, does not exist.",
            "The version '0197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90' does not exist.",
        ))
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<SchemaQuery>,
) -> Result<Reply<StoreSchema>> {
    let (tenant, version) = (call.tenant()?, query.version_id.as_deref());
    let loaded = app.load(&tenant, &path.store_id, version).await?;
    Ok(Reply::ok(match query.format {
        SchemaFormat::Full => StoreSchema::Full(FullSchema::new(&loaded)),
        SchemaFormat::Ai => StoreSchema::Ai(AiSchema::new(&loaded)),
    }))
}
