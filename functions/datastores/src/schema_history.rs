//! `GET /data/{store_id}/schema/history`: lists the versions that changed the schema, newest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::records::stores::{StoreVersion, VersionChange};
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Path, Query, Reply};
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
    #[serde(flatten)]
    pub version: StoreVersion,
    /// The same as `id`, under the name that other answers have for it.
    pub version_id: String,
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
            "Answers the versions that changed the schema, newest first, with their changes. Versions that changed rows alone are \
             not in it, and neither is the empty first version; `listStoreVersions` has all of them. Ask for pages, with \
             `page_size` and `next_page_token`, to read the whole history; without them the answer has the newest entries, up to \
             `limit`.",
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
    let tenant = call.tenant()?;
    let pages = pages.without_window(query.limit.is_some())?;
    let limit = limited(query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let mut page = pages.page_or(Some(limit))?;
    let stores = app.stores.records();
    let store = stores.get(&tenant, &path.store_id).await?;
    let mut versions = stores.version_rows(&tenant, &store.id, page.after(), page.read_at_once());
    while let Some(version) = versions.next().await? {
        if !version.changes.iter().any(VersionChange::is_of_schema) {
            continue;
        }
        let id = version.id.clone();
        let item = SchemaHistoryItem {
            version_id: id.clone(),
            version,
        };
        if !page.take(&id, item)? {
            break;
        }
    }
    Ok(page.reply())
}
