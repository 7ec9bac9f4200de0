//! `DELETE /data/{store_id}/dashboards/{dashboard_id}`: archives a dashboard. It can still be read, and its
//! name becomes free.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use lake::records::dashboards::DashboardStatus;
use platform::auth::permission::DeleteStores;
use platform::http::openapi::conditional_write;
use platform::http::{Call, Path, Reply, audited};
use platform::records::Outcome;
use platform::records::audit::AuditAction;
use platform::{Platform, Result};

use crate::App;
use crate::dashboard_change::{Attempts, next_record};
use crate::dashboard_model::DashboardPath;
use crate::store_archive::ArchivedResource;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Delete, "dashboard")
        .identified_by("dashboard_id")
        .on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("archiveDashboard")
        .tag("dashboards")
        .summary("Archive a dashboard")
        .description(
            "Takes a dashboard out of use. It can still be read, and listed with `status=archived`, but not changed, and there is no \
             operation that restores it. Its name is free for another dashboard.\n\n\
             Side effects: an audit record of the action `delete`.",
        )
        .response::<200, axum::Json<ArchivedResource>>()
        .with(conditional_write)
}

async fn handler(
    call: Call<DeleteStores>,
    State(app): State<App>,
    Path(path): Path<DashboardPath>,
    headers: HeaderMap,
) -> Result<Reply<ArchivedResource>> {
    let tenant = call.tenant()?;
    let mut attempts = Attempts::new(&app, &tenant, &path, &headers);
    loop {
        let before = attempts.load().await?;
        let mut next = next_record(&before, app.platform.clock.now(), &call.principal.reference());
        next.status = DashboardStatus::Archived;
        if app.dashboards.save(&tenant, &before, &next, None).await? == Outcome::Done {
            return Ok(Reply::ok(ArchivedResource {
                id: next.id,
                status: "archived",
            }));
        }
    }
}
