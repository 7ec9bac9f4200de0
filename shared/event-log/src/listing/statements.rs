//! Builds the SQL of a listing.

use platform::auth::Viewer;
use platform::records::audit::{AuditAction, AuditEvent};
use platform::{Error, Result, UtcTime};
use serde_json::{Map, Value};

use crate::columns::AUDIT;
use crate::listing::AuditFilter;
use crate::sql::Statement;

const MINUTE_MS: i64 = 60_000;

/// Position of a page among the matches of some days.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub matches: u64,
    /// Number of matches that are newer than the minute in which the page begins.
    pub before: u64,
    first_minute: Option<i64>,
    last_minute: Option<i64>,
}

impl Found {
    /// Parses the row of [`count`].
    pub fn read(rows: Vec<Vec<Value>>) -> Result<Self> {
        let row = rows.into_iter().next().unwrap_or_default();
        let [matches, before, first_minute, last_minute] = row.as_slice() else {
            return Err(Error::internal(
                "a count of audit records has another number of columns",
            ));
        };
        let number = |value: &Value| {
            let number = value.as_u64();
            number.ok_or_else(|| Error::internal(format!("{value} is no number of audit records")))
        };
        Ok(Self {
            matches: number(matches)?,
            before: number(before)?,
            first_minute: first_minute.as_i64(),
            last_minute: last_minute.as_i64(),
        })
    }

    /// Returns the part of a range that contains the page.
    pub fn minutes(&self, (from, to): (UtcTime, UtcTime)) -> (UtcTime, UtcTime) {
        let begin = |minute: i64| UtcTime::from_millis(minute.checked_mul(MINUTE_MS)?);
        let end = |minute: i64| begin(minute + 1).and_then(|next| UtcTime::from_millis(next.as_millis() - 1));
        let last = self
            .last_minute
            .and_then(begin)
            .map_or(from, |last| last.max(from));
        let first = self.first_minute.and_then(end).map_or(to, |first| first.min(to));
        (last, first)
    }
}

/// Returns whether a filter has conditions besides the times.
pub(super) fn has_conditions(filter: &AuditFilter) -> bool {
    !filter.actions.is_empty()
        || !filter.resource_types.is_empty()
        || filter.resource_id.is_some()
        || filter.principal_id.is_some()
        || filter.principal_user_id.is_some()
}

/// Counts the matches of a range, and finds the minutes that contain the `missing` matches after the first
/// `offset`. Where the range has fewer, there is no last minute.
pub(super) fn count(
    relation: &str,
    within: (UtcTime, UtcTime),
    (filter, viewer): (&AuditFilter, &Viewer),
    offset: u64,
    missing: u64,
) -> Result<Statement> {
    let mut statement = Statement::default();
    statement.push(&format!(
        "WITH minutes AS (SELECT epoch_ms(timestamp) // {MINUTE_MS} AS minute, count(*) AS records FROM {relation} AS audit"
    ));
    conditions(&mut statement, within, filter)?;
    statement.and_visible_to(viewer);
    statement.push(&format!(
        " GROUP BY 1), running AS (SELECT minute, records, sum(records) OVER (ORDER BY minute DESC) AS through FROM minutes) \
         SELECT CAST(coalesce(sum(records), 0) AS BIGINT), \
         CAST(coalesce(max(through) FILTER (WHERE through <= {offset}), 0) AS BIGINT), \
         max(minute) FILTER (WHERE through > {offset}), \
         max(minute) FILTER (WHERE through >= {}) FROM running",
        offset.saturating_add(missing)
    ));
    Ok(statement)
}

/// Selects at most `most` matches of a range after the first `skipped`, newest first.
pub(super) fn page(
    relation: &str,
    within: (UtcTime, UtcTime),
    (filter, viewer): (&AuditFilter, &Viewer),
    skipped: u64,
    most: u64,
) -> Result<Statement> {
    let columns: Vec<_> = AUDIT
        .iter()
        .map(|column| format!("\"{}\"", column.name))
        .collect();
    let mut statement = Statement::default();
    statement.push(&format!("SELECT {} FROM {relation} AS audit", columns.join(", ")));
    conditions(&mut statement, within, filter)?;
    statement.and_visible_to(viewer);
    statement.push(&format!(
        " ORDER BY timestamp DESC, id DESC LIMIT {most} OFFSET {skipped}"
    ));
    Ok(statement)
}

fn conditions(statement: &mut Statement, (from, to): (UtcTime, UtcTime), filter: &AuditFilter) -> Result<()> {
    statement.push(" WHERE timestamp >= ");
    statement.time(from);
    statement.push(" AND timestamp <= ");
    statement.time(to);
    if !filter.actions.is_empty() {
        let actions: Result<Vec<_>> = filter.actions.iter().map(|action| text(*action)).collect();
        statement.push(" AND action");
        statement.is_one_of(actions?);
    }
    if !filter.resource_types.is_empty() {
        statement.push(" AND resource_type");
        statement.is_one_of(&filter.resource_types);
    }
    for (column, wanted) in [
        ("resource_id", &filter.resource_id),
        ("principal_id", &filter.principal_id),
        ("principal_user_id", &filter.principal_user_id),
    ] {
        if let Some(wanted) = wanted {
            statement.push(&format!(" AND {column} = "));
            statement.text(wanted);
        }
    }
    Ok(())
}

fn text(action: AuditAction) -> Result<String> {
    let value = serde_json::to_value(action).map_err(Error::internal)?;
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| Error::internal("an action is no text"))
}

/// Parses a row of [`page`].
pub(super) fn event(row: Vec<Value>) -> Result<AuditEvent> {
    let names = AUDIT.iter().map(|column| column.name.to_owned());
    let fields: Map<_, _> = names.zip(row).collect();
    serde_json::from_value(Value::Object(fields)).map_err(Error::internal)
}
