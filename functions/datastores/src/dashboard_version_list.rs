//! `GET /data/{store_id}/dashboards/{dashboard_id}/versions`: lists the versions of a dashboard, newest
//! first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::dashboard_model::{
    DashboardPath, DashboardVersion, MAX_LISTED, check_size, list_too_large, window,
};

/// Which versions to answer.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardVersionListQuery {
    /// Most versions to answer. Default: 1,000.
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
             no version is ever removed. Ask for parts of a longer list with `limit` and `offset`.",
        )
        .response_with::<200, axum::Json<Vec<DashboardVersion>>, _>(|response| {
            response.description("The versions, newest first.")
        })
        .with(list_too_large)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<DashboardPath>,
    Query(query): Query<DashboardVersionListQuery>,
) -> Result<Reply<Vec<DashboardVersion>>> {
    let tenant = call.tenant()?;
    let window = window(query.limit, query.offset)?;
    let store = app.stores.records().get(&tenant, &path.store_id).await?;
    let dashboard = app.dashboards.get(&tenant, &store.id, &path.dashboard_id).await?;
    let versions = app.dashboards.versions(&tenant, &dashboard, window).await?;
    let list = versions
        .into_iter()
        .map(|version| DashboardVersion::new(&dashboard, version));
    let list: Vec<_> = list.collect();
    check_size(&list)?;
    Ok(Reply::ok(list))
}
