//! `GET /data/{store_id}/schema`: the schema, whole or as a summary for a language model.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::ai_schema::AiSchema;
use crate::model::{FullSchema, StorePath};

/// How to show the schema.
#[derive(Deserialize, JsonSchema)]
pub struct SchemaQuery {
    /// `full` for everything, `ai` for a summary; `full` where it is left out.
    #[serde(default)]
    pub format: SchemaFormat,
}

/// A form of the schema.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchemaFormat {
    /// Everything.
    #[default]
    Full,
    /// A summary for a language model.
    Ai,
}

/// The schema in the form that was asked for.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Schema {
    /// In the format `full`.
    Full(FullSchema),
    /// In the format `ai`.
    Ai(AiSchema),
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getSchema")
        .tag("data stores")
        .summary("Read the schema of a data store")
        .response::<200, axum::Json<Schema>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<SchemaQuery>,
) -> Result<Reply<Schema>> {
    let loaded = app.stores.load(&call.tenant()?, &path.store_id).await?;
    Ok(Reply::ok(match query.format {
        SchemaFormat::Full => Schema::Full(FullSchema::new(&loaded)),
        SchemaFormat::Ai => Schema::Ai(AiSchema::new(&loaded)),
    }))
}
