//! `GET /data/{store_id}/dashboards/{dashboard_id}`: returns the current version of a dashboard, active or
//! archived.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::openapi::tagged;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::dashboard_model::{Dashboard, DashboardPath, etag};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getDashboard")
        .tag("dashboards")
        .summary("Read a dashboard")
        .description(
            "Answers a dashboard, active or archived, as its current version is. It has no rows: run its query with `queryDataStore`. \
             The content of another version can be read only once it is promoted.",
        )
        .response::<200, axum::Json<Dashboard>>()
        .with(tagged)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<DashboardPath>,
) -> Result<Reply<Dashboard>> {
    let tenant = call.tenant()?;
    let store = app.stores.records().get(&tenant, &path.store_id).await?;
    let dashboard = app.dashboards.get(&tenant, &store.id, &path.dashboard_id).await?;
    let tag = etag(&dashboard);
    Ok(Reply::ok(Dashboard::new(dashboard)).etag(&tag))
}
