//! `POST /data/{store_id}/dashboards/{dashboard_id}/versions`: takes a snapshot: a named version that never
//! changes.
//!
//! The snapshot is a copy of the current version, which stays current. So editors can continue, and their
//! `If-Match` still holds.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use lake::records::dashboards::{DashboardRecord, DashboardVersionRecord};
use platform::auth::permission::WriteStores;
use platform::http::openapi::{answer_header, conditional_write, problem};
use platform::http::text::{check_name, check_text};
use platform::http::{Call, Json, Path, Reply, audited};
use platform::records::Outcome;
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};

use crate::App;
use crate::dashboard_change::{Attempts, next_version};
use crate::dashboard_model::{DashboardPath, DashboardVersion};
use crate::model::CreateSnapshot;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "dashboard")
        .identified_by("dashboard_id")
        .on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createDashboardSnapshot")
        .tag("dashboards")
        .summary("Create a snapshot of a dashboard")
        .description(
            "Makes a version with a name and the content of the current one, which never changes. The dashboard stays at its current \
             version, with the same `etag`: to edit on and come back by `promoteDashboardVersion`.\n\n\
             Side effects: a version, and an audit record of the action `update`.",
        )
        .response::<201, axum::Json<DashboardVersion>>()
        .with(|operation| answer_header(operation, "location", "Path of the list of versions."))
        .with(conditional_write)
        .with(problem(
            ErrorKind::Conflict,
            "A snapshot of the dashboard has the name, without regard to case.",
            "A snapshot named 'Q3' of this dashboard exists already.",
        ))
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<DashboardPath>,
    headers: HeaderMap,
    Json(body): Json<CreateSnapshot>,
) -> Result<Reply<DashboardVersion>> {
    check_name("name", &body.name)?;
    check_text("message", body.message.as_deref())?;
    let tenant = call.tenant()?;
    let author = call.principal.reference();
    let message = body.message.unwrap_or_else(|| format!("Snapshot {}", body.name));
    let mut attempts = Attempts::new(&app, &tenant, &path, &headers);
    loop {
        let before = attempts.load().await?;
        let version = DashboardVersionRecord {
            name: Some(body.name.clone()),
            is_snapshot: true,
            ..next_version(&before, app.platform.clock.now(), &author, message.clone())
        };
        let next = DashboardRecord {
            revision: before.revision + 1,
            last_version: version.version_number,
            ..before.clone()
        };
        let saved = app
            .dashboards
            .save(&tenant, &before, &next, Some(&version))
            .await?;
        if saved == Outcome::Done {
            let location = format!("/data/{}/dashboards/{}/versions", next.store_id, next.id);
            let snapshot = DashboardVersion::new(&next, version);
            // The audit record names the dashboard, not the snapshot.
            return Ok(Reply::created(&next.id, &location, snapshot));
        }
    }
}
