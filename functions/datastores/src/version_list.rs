//! `GET /data/{store_id}/versions`: lists the versions of a store, newest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::records::stores::StoreVersion;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Path, Query, Reply};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{StorePath, limited};

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1_000;

/// Which versions to answer.
#[derive(Deserialize, JsonSchema)]
pub struct VersionsQuery {
    /// Whether to answer snapshots alone. Default: false.
    #[serde(default)]
    pub snapshots_only: bool,
    /// Most versions to answer where no page is asked for. Default: 50.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: Option<usize>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listStoreVersions")
        .tag("data stores")
        .summary("List the versions of a data store")
        .description(
            "Answers the versions of a data store, newest first. Every import, every change of the schema, every snapshot, rollback \
             and compaction makes one. Ask for pages, with `page_size` and `next_page_token`, to read all of them; without them the \
             answer has the newest ones, up to `limit`. Where the operator collects old versions, those that were collected are \
             missing; snapshots and the current version stay.",
        )
        .response_with::<200, axum::Json<Vec<StoreVersion>>, _>(|response| {
            response.description("The versions, newest first.")
        })
        .with(pages)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<VersionsQuery>,
    Query(pages): Query<PageQuery>,
) -> Result<Reply<Vec<StoreVersion>>> {
    let tenant = call.tenant()?;
    let pages = pages.without_window(query.limit.is_some())?;
    let limit = limited(query.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let mut page = pages.page_or(Some(limit))?;
    let stores = app.stores.records();
    let store = stores.get(&tenant, &path.store_id).await?;
    if query.snapshots_only {
        // Snapshots are stored by name, so each page reads all of them.
        let after = page.after().map(str::to_owned);
        let snapshots = stores.snapshots(&tenant, &store.id).await?.into_iter();
        let rest = snapshots.filter(|snapshot| after.as_ref().is_none_or(|after| snapshot.id < *after));
        for snapshot in rest {
            if !page.take(&snapshot.id.clone(), snapshot)? {
                break;
            }
        }
        return Ok(page.reply());
    }
    let mut versions = stores.version_rows(&tenant, &store.id, page.after(), page.read_at_once());
    while let Some(version) = versions.next().await? {
        if !page.take(&version.id.clone(), version)? {
            break;
        }
    }
    Ok(page.reply())
}
