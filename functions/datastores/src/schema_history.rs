//! `GET /data/{store_id}/schema/history`: lists the versions that changed the schema, with the changes,
//! newest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use futures::TryStreamExt as _;
use lake::store::SchemaChange;
use platform::auth::permission::ReadStores;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Path, Query, Reply};
use platform::{Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::{StorePath, limited};

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;

/// Which part of the history.
#[derive(Deserialize, JsonSchema)]
pub struct HistoryQuery {
    /// Most entries to answer where no page is asked for. Default: 50.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: Option<usize>,
}

/// A version that changed the schema.
#[derive(Serialize, JsonSchema)]
pub struct SchemaHistoryItem {
    /// Id of the version, as in the list of versions.
    pub id: String,
    /// The same as `id`, under the name that other answers have for it.
    pub version_id: String,
    /// Number of the schema from this version on.
    pub schema_version: u64,
    /// Reason for the version, from its author, else a sentence about the change.
    pub message: String,
    /// Time at which the version was made.
    pub created_at: UtcTime,
    /// Principal that made the version, such as `user:<user_id>` or `apikey:<key_id>`.
    pub created_by: String,
    /// One sentence for each change; empty if a collection has removed the version before.
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

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listSchemaChanges")
        .tag("data stores")
        .summary("List the changes of the schema of a data store")
        .description(
            "Answers the versions that changed the schema, newest first, with a sentence for each change. Versions that changed \
             rows alone are not in it, and neither is the empty first version; `listStoreVersions` has all of them. Ask for \
             pages, with `page_size` and `next_page_token`, to read the whole history; without them the answer has the newest \
             entries, up to `limit`.",
        )
        .response_with::<200, axum::Json<Vec<SchemaHistoryItem>>, _>(|response| {
            response.description("The versions that changed the schema, newest first.")
        })
        .with(pages)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<HistoryQuery>,
    Query(pages): Query<PageQuery>,
) -> Result<Reply<Vec<SchemaHistoryItem>>> {
    let pages = pages.without_window(query.limit.is_some())?;
    let limit = limited(query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let mut page = pages.page_or(Some(limit))?;
    let tenant = call.tenant()?;
    let history = app
        .stores
        .schema_history(&tenant, &path.store_id, page.after())
        .await?;
    let mut history = std::pin::pin!(history);
    while let Some(change) = history.try_next().await? {
        let item = SchemaHistoryItem::new(change);
        if !page.take(&item.id.clone(), item)? {
            break;
        }
    }
    Ok(page.reply())
}
