//! `GET /data/{store_id}/dashboards/{dashboard_id}/versions`: lists the versions of a dashboard, newest
//! first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Path, Query, Reply};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::dashboard_model::{DashboardPath, DashboardVersion, MAX_LISTED};
use crate::model::limited;

/// Which versions to answer.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardVersionListQuery {
    /// Most versions to answer where no page is asked for. Default: 1,000.
    #[schemars(range(min = 1, max = MAX_LISTED))]
    pub limit: Option<usize>,
    /// Number of versions to skip. Default: 0.
    pub offset: Option<usize>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listDashboardVersions")
        .tag("dashboards")
        .summary("List the versions of a dashboard")
        .description(
            "Answers the versions of a dashboard, active or archived, newest first, without their content. Numbers have no gaps, and \
             no version is ever removed. The answer has at most 1,000: ask for a longer list page by page, with `page_size` and \
             `next_page_token`, or for parts of it, with `limit` and `offset`.",
        )
        .response_with::<200, axum::Json<Vec<DashboardVersion>>, _>(|response| {
            response.description("The versions, newest first.")
        })
        .with(pages)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<DashboardPath>,
    Query(query): Query<DashboardVersionListQuery>,
    Query(pages): Query<PageQuery>,
) -> Result<Reply<Vec<DashboardVersion>>> {
    let tenant = call.tenant()?;
    let pages = pages.without_window(query.limit.is_some() || query.offset.is_some())?;
    let mut page = pages.page_or(Some(limited(query.limit, MAX_LISTED, MAX_LISTED)?))?;
    let before = page.after_number()?;
    let store = app.stores.records().get(&tenant, &path.store_id).await?;
    let dashboard = app.dashboards.get(&tenant, &store.id, &path.dashboard_id).await?;
    // Numbers have no gaps.
    let last = match before {
        Some(before) => before.saturating_sub(1),
        None => dashboard
            .last_version
            .saturating_sub(query.offset.unwrap_or(0) as u64),
    };
    let mut versions = app
        .dashboards
        .version_rows(&tenant, &dashboard.id, last, page.read_at_once());
    while let Some(version) = versions.next().await? {
        let number = version.version_number.to_string();
        if !page.take(&number, DashboardVersion::new(&dashboard, version))? {
            break;
        }
    }
    Ok(page.reply())
}
