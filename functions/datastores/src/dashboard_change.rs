//! Provides what the operations that change a dashboard share: loading it before each attempt, and making the
//! records that follow.
//!
//! Without `If-Match` the last writer wins: after a lost race the dashboard is read again and the same change
//! applied to it. So no version number is skipped or used twice, and no accepted change is lost.

use axum::http::HeaderMap;
use lake::records::dashboards::{DashboardRecord, DashboardVersionRecord};
use platform::http::if_match;
use platform::races::{RacePolicy, Races};
use platform::{Result, Tenant, UtcTime, ids};

use crate::App;
use crate::dashboard_model::{DashboardPath, etag};

pub struct Attempts<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    path: &'a DashboardPath,
    headers: &'a HeaderMap,
    races: Option<Races>,
}

impl<'a> Attempts<'a> {
    pub fn new(app: &'a App, tenant: &'a Tenant, path: &'a DashboardPath, headers: &'a HeaderMap) -> Self {
        Self {
            app,
            tenant,
            path,
            headers,
            races: None,
        }
    }

    /// Loads the dashboard, after a pause if this is not the first attempt. 404 unless it and its store are
    /// active; 412 where `If-Match` does not match.
    pub async fn load(&mut self) -> Result<DashboardRecord> {
        match &mut self.races {
            Some(races) => races.lost().await?,
            None => self.races = Some(Races::new(&RacePolicy::RECORD, "a dashboard")),
        }
        let DashboardPath {
            store_id,
            dashboard_id,
        } = self.path;
        self.app.stores.records().get(self.tenant, store_id).await?;
        let dashboards = &self.app.dashboards;
        let before = dashboards.get_active(self.tenant, store_id, dashboard_id).await?;
        if_match(self.headers, &etag(&before))?;
        Ok(before)
    }
}

/// Returns a copy of the head with new counters, time and author. The caller sets the changed fields.
pub fn next_record(before: &DashboardRecord, now: UtcTime, author: &str) -> DashboardRecord {
    DashboardRecord {
        revision: before.revision + 1,
        changes: before.changes + 1,
        updated_at: now.max(before.updated_at),
        updated_by: author.to_owned(),
        ..before.clone()
    }
}

/// Returns the version that follows the last one.
pub fn next_version(
    before: &DashboardRecord,
    now: UtcTime,
    author: &str,
    message: String,
) -> DashboardVersionRecord {
    DashboardVersionRecord {
        id: ids::new_id(now),
        version_number: before.last_version + 1,
        name: None,
        message,
        is_snapshot: false,
        created_at: now.max(before.updated_at),
        created_by: author.to_owned(),
    }
}

pub fn move_to(next: &mut DashboardRecord, version: &DashboardVersionRecord) {
    next.current = version.clone();
    next.last_version = version.version_number;
}
