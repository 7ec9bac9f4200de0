//! `PUT /data/{store_id}/dashboards/{dashboard_id}/versioning`: sets whether an update makes a version.
//!
//! With versioning off, updates change the current version in place. Switching it on again makes a version
//! with the current content, so that the next update does not change that content.

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use lake::records::dashboards::DashboardRecord;
use platform::auth::permission::WriteStores;
use platform::http::openapi::{conditional_write, tagged};
use platform::http::{Call, Json, Path, Reply, audited};
use platform::records::Outcome;
use platform::records::audit::AuditAction;
use platform::{Platform, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::dashboard_change::{Attempts, move_to, next_record, next_version};
use crate::dashboard_model::{DashboardPath, etag};

/// Whether a dashboard gets versions.
#[derive(Deserialize, JsonSchema)]
pub struct SetDashboardVersioning {
    /// True: each update makes a version. False: an update changes the current version.
    pub enabled: bool,
}

/// Whether a dashboard gets versions, and its current one.
#[derive(Serialize, JsonSchema)]
pub struct DashboardVersioning {
    /// Id of the dashboard.
    pub id: String,
    /// Whether each update makes a version.
    pub enabled: bool,
    /// Number of the current version.
    pub version: u64,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "dashboard")
        .identified_by("dashboard_id")
        .on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("setDashboardVersioning")
        .tag("dashboards")
        .summary("Switch the versioning of a dashboard")
        .description(
            "Switches versioning on or off: off while a dashboard is drafted, so that its history stays short. To switch it on makes a \
             version of the content as it is then, so that the next update leaves that content in the history. The present value \
             again changes nothing.\n\n\
             Side effects: a version where it is switched on, and an audit record of the action `update`.",
        )
        .response::<200, axum::Json<DashboardVersioning>>()
        .with(tagged)
        .with(conditional_write)
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<DashboardPath>,
    headers: HeaderMap,
    Json(body): Json<SetDashboardVersioning>,
) -> Result<Reply<DashboardVersioning>> {
    let tenant = call.tenant()?;
    let author = call.principal.reference();
    let mut attempts = Attempts::new(&app, &tenant, &path, &headers);
    loop {
        let before = attempts.load().await?;
        if before.versioning_enabled == body.enabled {
            return Ok(reply(&before));
        }
        let now = app.platform.clock.now();
        let mut next = next_record(&before, now, &author);
        next.versioning_enabled = body.enabled;
        let message = "Switched versioning on".to_owned();
        let version = body.enabled.then(|| next_version(&before, now, &author, message));
        if let Some(version) = &version {
            move_to(&mut next, version);
        }
        if app
            .dashboards
            .save(&tenant, &before, &next, version.as_ref())
            .await?
            == Outcome::Done
        {
            return Ok(reply(&next));
        }
    }
}

fn reply(dashboard: &DashboardRecord) -> Reply<DashboardVersioning> {
    let setting = DashboardVersioning {
        id: dashboard.id.clone(),
        enabled: dashboard.versioning_enabled,
        version: dashboard.current.version_number,
    };
    Reply::ok(setting).etag(&etag(dashboard))
}
