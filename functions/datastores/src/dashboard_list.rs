//! `GET /data/{store_id}/dashboards`: the dashboards of a store, newest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Query, Reply, strict};
use platform::records::dashboards::DashboardStatus;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::dashboard_model::{Dashboard, check_size, window};
use crate::model::StorePath;

/// Which dashboards.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardListQuery {
    /// Active or archived; active where it is left out.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub status: Option<DashboardStatus>,
    /// Most dashboards to answer with: 1 to 1,000, 1,000 where it is left out.
    pub limit: Option<usize>,
    /// Dashboards to skip; 0 where it is left out.
    pub offset: Option<usize>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listDashboards")
        .tag("dashboards")
        .summary("List dashboards")
        .response::<200, axum::Json<Vec<Dashboard>>>()
}

pub async fn handler(
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
