//! `GET /data/{store_id}/dashboards`: lists the dashboards of a store, newest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::records::dashboards::DashboardStatus;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Path, Query, Reply, strict};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::dashboard_model::{Dashboard, MAX_LISTED};
use crate::model::{StorePath, limited};

/// Which dashboards to answer.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardListQuery {
    /// Status of the dashboards. Default: `active`.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub status: Option<DashboardStatus>,
    /// Most dashboards to answer where no page is asked for. Default: 1,000.
    #[schemars(range(min = 1, max = MAX_LISTED))]
    pub limit: Option<usize>,
    /// Number of dashboards to skip. Default: 0.
    pub offset: Option<usize>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listDashboards")
        .tag("dashboards")
        .summary("List dashboards")
        .description(
            "Answers the dashboards of a data store with one status, newest first, with their whole content: at most 1,000, and \
             6.2 MB. Ask for a longer list page by page, with `page_size` and `next_page_token`; or for parts of it, with `limit` and \
             `offset`, where a dashboard that is created meanwhile moves the others.",
        )
        .response_with::<200, axum::Json<Vec<Dashboard>>, _>(|response| {
            response.description("The dashboards, newest first.")
        })
        .with(pages)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<DashboardListQuery>,
    Query(pages): Query<PageQuery>,
) -> Result<Reply<Vec<Dashboard>>> {
    let tenant = call.tenant()?;
    let pages = pages.without_window(query.limit.is_some() || query.offset.is_some())?;
    let mut page = pages.page_or(Some(limited(query.limit, MAX_LISTED, MAX_LISTED)?))?;
    let store = app.stores.records().get(&tenant, &path.store_id).await?;
    let status = query.status.unwrap_or_default();
    let mut skipped = 0;
    let mut rows = app
        .dashboards
        .rows(&tenant, &store.id, page.after(), page.read_at_once());
    while let Some(dashboard) = rows.next().await? {
        if dashboard.status != status {
            continue;
        }
        if skipped < query.offset.unwrap_or(0) {
            skipped += 1;
            continue;
        }
        if !page.take(&dashboard.id.clone(), Dashboard::new(dashboard))? {
            break;
        }
    }
    Ok(page.reply())
}
