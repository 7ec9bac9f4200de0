//! `GET /data/{store_id}/schema/history`: the versions that changed the schema, newest first, and what they changed.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::SchemaChange;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::StorePath;

/// Entries where the caller names no limit.
const DEFAULT_LIMIT: usize = 50;
/// Most entries: each reads two manifests.
const MAX_LIMIT: usize = 500;

/// Which part of the history.
#[derive(Deserialize, JsonSchema)]
pub struct HistoryQuery {
    /// Most entries: 1 to 500, 50 where it is left out.
    pub limit: Option<usize>,
}

/// A version that changed the schema.
#[derive(Serialize, JsonSchema)]
pub struct SchemaHistoryItem {
    /// The version.
    pub id: String,
    /// The version, under the name that other answers have for it.
    pub version_id: String,
    /// The schema's version from then on.
    pub schema_version: u64,
    /// Why, in the words of whoever changed it, or ours.
    pub message: String,
    /// When.
    pub created_at: UtcTime,
    /// Who.
    pub created_by: String,
    /// What changed, a sentence each; empty where the version before is no longer kept.
    pub changes: Vec<String>,
}

impl SchemaHistoryItem {
    fn new(change: SchemaChange) -> Self {
        let version = change.version;
        Self {
            version_id: version.id.clone(),
            id: version.id,
            schema_version: version.schema_version,
            message: version.message,
            created_at: version.created_at,
            created_by: version.created_by,
            changes: change.changes,
        }
    }
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listSchemaChanges")
        .tag("data stores")
        .summary("List the changes of the schema of a data store")
        .response::<200, axum::Json<Vec<SchemaHistoryItem>>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<HistoryQuery>,
) -> Result<Reply<Vec<SchemaHistoryItem>>> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::invalid(format!(
            "The query parameter 'limit' must be from 1 to {MAX_LIMIT}."
        )));
    }
    let history = app
        .stores
        .schema_history(&call.tenant()?, &path.store_id, limit)
        .await?;
    Ok(Reply::ok(
        history.into_iter().map(SchemaHistoryItem::new).collect(),
    ))
}
