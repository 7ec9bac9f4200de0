//! Loads, changes and saves a dashboard; every change of a dashboard goes through this module.
//!
//! Without `If-Match` the last writer wins: after a lost race the dashboard is read again and the same change
//! applied to it. So no version number is skipped or used twice, and no accepted change is lost.

use std::time::Duration;

use axum::http::HeaderMap;
use platform::http::if_match;
use platform::records::dashboards::{DashboardRecord, DashboardVersionRecord};
use platform::{Error, Result, Tenant, UtcTime, ids};
use rand::RngExt as _;

use crate::App;
use crate::dashboard_model::{DashboardPath, etag};

/// Lost races before the caller is told to repeat the request.
const MAX_ATTEMPTS: u32 = 200;

pub struct Attempts<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    path: &'a DashboardPath,
    headers: &'a HeaderMap,
    made: u32,
}

impl<'a> Attempts<'a> {
    pub fn new(app: &'a App, tenant: &'a Tenant, path: &'a DashboardPath, headers: &'a HeaderMap) -> Self {
        Self {
            app,
            tenant,
            path,
            headers,
            made: 0,
        }
    }

    /// Loads the dashboard, after a pause if this is not the first attempt. 404 unless it and its store are
    /// active; 412 where `If-Match` does not match.
    pub async fn next(&mut self) -> Result<DashboardRecord> {
        if self.made == MAX_ATTEMPTS {
            return Err(Error::unavailable("a dashboard lost too many races"));
        }
        if self.made > 0 {
            let longest_ms = u64::from(self.made.min(20)) * 5;
            let pause_ms = rand::rng().random_range(0..longest_ms);
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
        self.made += 1;
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

/// Returns the head after a change that readers see, with new counters, time and author. The caller sets the
/// changed fields.
pub fn changed(before: &DashboardRecord, now: UtcTime, author: &str) -> DashboardRecord {
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
