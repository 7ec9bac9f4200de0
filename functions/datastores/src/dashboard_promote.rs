//! `POST /data/{store_id}/dashboards/{dashboard_id}/versions/{version_id}/promote`: makes a version the current dashboard.
//!
//! The version itself becomes the current one, and no other version changes: to go back is another promotion. What the
//! version's query needs may be gone from the store by now; that is no reason to refuse it.

use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use platform::Result;
use platform::auth::permission::WriteStores;
use platform::http::{Call, Path, Reply};
use platform::records::Written;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::dashboard_change::{Attempts, changed};
use crate::dashboard_model::{Dashboard, DashboardPath, etag};

/// The store, the dashboard and the version in the path.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardVersionPath {
    /// The store's id.
    pub store_id: String,
    /// The dashboard's id.
    pub dashboard_id: String,
    /// The version's id.
    pub version_id: String,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("promoteDashboardVersion")
        .tag("dashboards")
        .summary("Make a version the current dashboard")
        .response::<200, axum::Json<Dashboard>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<DashboardVersionPath>,
    headers: HeaderMap,
) -> Result<Reply<Dashboard>> {
    let tenant = call.tenant()?;
    let dashboard = DashboardPath {
        store_id: path.store_id,
        dashboard_id: path.dashboard_id,
    };
    let mut attempts = Attempts::new(&app, &tenant, &dashboard, &headers);
    loop {
        let before = attempts.next().await?;
        let wanted = app
            .dashboards
            .version(&tenant, &before.id, &path.version_id)
            .await?;
        let mut next = changed(&before, app.platform.clock.now(), &call.principal.reference());
        next.content = wanted.content;
        next.current = wanted.version;
        let is_there = next.current.id == before.current.id;
        if is_there {
            next = before;
        } else if app.dashboards.save(&tenant, &before, &next, None).await? != Written::Done {
            continue;
        }
        let tag = etag(&next);
        return Ok(Reply::ok(Dashboard::new(next)).etag(&tag));
    }
}
