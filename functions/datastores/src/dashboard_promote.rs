//! `POST /data/{store_id}/dashboards/{dashboard_id}/versions/{version_id}/promote`: makes a version the
//! current dashboard.
//!
//! The promoted version itself becomes current, and no other version changes; another promotion undoes this
//! one. The version's query is not checked, so it may name tables that the store no longer has.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use platform::auth::permission::WriteStores;
use platform::http::openapi::{conditional_write, problem, tagged};
use platform::http::{Call, Path, Reply, audited};
use platform::records::Outcome;
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::dashboard_change::{Attempts, next_record};
use crate::dashboard_model::{Dashboard, DashboardPath, etag};

/// The path of a dashboard's version.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardVersionPath {
    /// Id of the data store.
    pub store_id: String,
    /// Id of the dashboard.
    pub dashboard_id: String,
    /// Id of the dashboard's version.
    pub version_id: String,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "dashboard")
        .identified_by("dashboard_id")
        .on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("promoteDashboardVersion")
        .tag("dashboards")
        .summary("Make a version the current dashboard")
        .description(
            "Makes an earlier version, or a snapshot, the one that the dashboard shows. No version is made or changed, so another \
             promotion goes back. The name of the dashboard is part of a version: it changes too. The version's query is not \
             checked: its tables can be gone.\n\n\
             Side effects: an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<Dashboard>, _>(|response| {
            response.description("The dashboard after the promotion.")
        })
        .with(tagged)
        .with(conditional_write)
        .with(problem(
            ErrorKind::Conflict,
            "The version has another name, which another active dashboard of the data store has by now.",
            "A dashboard named 'Sales by city' exists already in this data store.",
        ))
}

async fn handler(
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
        let before = attempts.load().await?;
        let version = app
            .dashboards
            .version(&tenant, &before.id, &path.version_id)
            .await?;
        let mut next = next_record(&before, app.platform.clock.now(), &call.principal.reference());
        next.content = version.content;
        next.current = version.version;
        let is_there = next.current.id == before.current.id;
        if is_there {
            next = before;
        } else if app.dashboards.save(&tenant, &before, &next, None).await? != Outcome::Done {
            continue;
        }
        let tag = etag(&next);
        return Ok(Reply::ok(Dashboard::new(next)).etag(&tag));
    }
}
