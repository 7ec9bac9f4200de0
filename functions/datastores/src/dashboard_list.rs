//! `GET /data/{store_id}/dashboards`: lists the dashboards of a store, newest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply, strict};
use platform::records::dashboards::DashboardStatus;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::dashboard_model::{Dashboard, MAX_LISTED, check_size, list_too_large, window};
use crate::model::StorePath;

/// Which dashboards to answer.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardListQuery {
    /// Status of the dashboards. Default: `active`.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub status: Option<DashboardStatus>,
    /// Most dashboards to answer. Default: 1,000.
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
            "Answers the dashboards of a data store with one status, newest first, with their whole content: at most 1,000, and 6 MB. \
             Ask for parts of a longer list with `limit` and `offset`; a dashboard that is created meanwhile moves the others.",
        )
        .response_with::<200, axum::Json<Vec<Dashboard>>, _>(|response| {
            response.description("The dashboards, newest first.")
        })
        .with(list_too_large)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Query(query): Query<DashboardListQuery>,
) -> Result<Reply<Vec<Dashboard>>> {
    let tenant = call.tenant()?;
    let window = window(query.limit, query.offset)?;
    let store = app.stores.records().get(&tenant, &path.store_id).await?;
    let status = query.status.unwrap_or_default();
    let found = app.dashboards.list(&tenant, &store.id, status, window).await?;
    let list: Vec<_> = found.into_iter().map(Dashboard::new).collect();
    check_size(&list)?;
    Ok(Reply::ok(list))
}
