//! Lists audit records: newest first, at any offset.
//!
//! Days are in the order of time, so the page is searched from the newest day on. Without a filter, whole
//! days are skipped by their number of records; with one, matches are counted. Only the minutes that contain
//! the page are sorted.

mod days;
mod filter;
mod statements;
mod walk;

use platform::auth::Viewer;
use platform::records::audit::AuditEvent;
use platform::records::logs::LogKind;
use platform::{Error, Result, UtcTime};

use self::days::{bounds, days};
use self::statements::Found;
use self::walk::{Stretch, Walk};
use crate::LogStore;
use crate::sql::sql_time;

pub use self::filter::AuditFilter;

/// The last millisecond before the year 9999.
const LATEST_MS: i64 = 253_370_764_799_999;

/// Records of a page.
#[derive(Debug)]
pub struct AuditList {
    pub events: Vec<AuditEvent>,
    pub has_next: bool,
}

impl LogStore {
    /// Lists the audit records of an account, or of one of its projects, that the viewer may see: `limit`
    /// matching records after the first `offset`. The order is newest first, and by id within the same time.
    pub async fn list_audit(
        &self,
        account: &str,
        project: Option<&str>,
        filter: &AuditFilter,
        viewer: &Viewer,
        (offset, limit): (u64, usize),
    ) -> Result<AuditList> {
        let nothing = UtcTime::from_millis(LATEST_MS).unwrap_or(UtcTime::EPOCH);
        let (from, to) = (
            filter.from.unwrap_or(UtcTime::EPOCH),
            filter.to.unwrap_or(nothing),
        );
        let (from, to) = (sql_time(from), to.min(nothing));
        let mut events = Vec::new();
        if from <= to {
            let logs = self.logs_of(account, project, LogKind::Audit).await?;
            let days = days(self.logs(), &logs, (from, to), viewer).await?;
            let missing = u64::try_from(limit + 1).map_err(Error::internal)?;
            let mut walk = Walk::new(days, statements::has_conditions(filter), offset, missing);
            while let Some(Stretch { first, last }) = walk.next() {
                let within = (bounds(&first)?.0.max(from), bounds(&last)?.1.min(to));
                let snapshot = self.snapshot(&logs, within.0, within.1).await?;
                let relation = snapshot.source();
                let count = statements::count(relation, within, (filter, viewer), walk.offset, walk.missing)?;
                let found = Found::read(snapshot.rows(&count.sql, &count.params).await?)?;
                if found.matches <= walk.offset {
                    walk.skipped(found.matches);
                    continue;
                }
                let within = found.minutes(within);
                let skipped = walk.offset.saturating_sub(found.before);
                let page = statements::page(relation, within, (filter, viewer), skipped, walk.missing)?;
                let rows = snapshot.rows(&page.sql, &page.params).await?;
                walk.taken(u64::try_from(rows.len()).map_err(Error::internal)?);
                for row in rows {
                    events.push(statements::event(row)?);
                }
            }
        }
        let has_next = events.len() > limit;
        events.truncate(limit);
        Ok(AuditList { events, has_next })
    }
}
