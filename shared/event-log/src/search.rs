//! Searches events, newest first, in the files of a log and its tail.
//!
//! The ids of a page are found first, by narrow columns; only then are the details of these events read.

use std::collections::BTreeSet;

use events::envelope::{Category, Envelope, Meter, RawObject};
use platform::auth::Viewer;
use platform::records::logs::LogKind;
use platform::{Error, Result, Tenant, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::LogStore;
use crate::sql::{Statement, sql_time};

/// Maximum size of the texts of a page, in bytes. A quote in them takes two bytes of an answer.
const MAX_PAGE_BYTES: usize = 2_500_000;

/// The first part of a range that is read, its newest, in milliseconds: a day. The next parts are longer, so
/// that a page of recent events reads few files.
const FIRST_SPAN_MS: u64 = 86_400_000;
const SPAN_GROWTH: u64 = 6;

/// Position in a search: time and id of the last event of a page.
pub type EventPlace = (UtcTime, String);

/// Selection of events; an empty set or a None selects all.
#[derive(Clone, Debug, Serialize)]
pub struct EventSelection {
    pub event_category: BTreeSet<Category>,
    pub action: BTreeSet<String>,
    pub resource_type: BTreeSet<String>,
    pub resource_id: Option<String>,
    pub source: Option<String>,
    /// Earliest time of an event.
    pub from: UtcTime,
    /// Latest time of an event.
    pub to: UtcTime,
}

/// An event of the log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoggedEvent {
    #[serde(flatten)]
    pub envelope: Envelope,
    /// Time at which the service accepted the event.
    pub received_at: UtcTime,
}

#[derive(Debug, Default)]
pub struct EventPage {
    /// Newest first.
    pub events: Vec<LoggedEvent>,
    /// Position after which the rest begins; None after the last page.
    pub next: Option<EventPlace>,
}

impl LogStore {
    /// Returns at most `limit` selected events of a project after a position that the viewer may see; fewer
    /// where they are large.
    pub async fn search_events(
        &self,
        tenant: &Tenant,
        selection: &EventSelection,
        viewer: &Viewer,
        after: Option<&EventPlace>,
        limit: usize,
    ) -> Result<EventPage> {
        let mut to = after.map_or(selection.to, |(time, _)| selection.to.min(*time));
        let mut span_ms = FIRST_SPAN_MS;
        let mut events = Vec::new();
        while to >= selection.from {
            let start = i64::try_from(span_ms).ok();
            let start = start.and_then(|span| UtcTime::from_millis(to.as_millis().saturating_sub(span)));
            let from = start.unwrap_or(selection.from).max(selection.from);
            let missing = limit - events.len();
            let part = self
                .search_part(tenant, selection, viewer, (from, to), after, missing)
                .await?;
            let is_full = part.next.is_some();
            events.extend(part.events);
            let is_over = from == selection.from;
            if is_full || is_over || events.len() >= limit {
                let next = events.last().filter(|_| is_full || !is_over);
                let next =
                    next.map(|last: &LoggedEvent| (last.envelope.timestamp, last.envelope.event_id.clone()));
                return Ok(EventPage { events, next });
            }
            let Some(before) = UtcTime::from_millis(from.as_millis() - 1) else {
                break;
            };
            to = before;
            span_ms = span_ms.saturating_mul(SPAN_GROWTH);
        }
        Ok(EventPage { events, next: None })
    }

    /// Returns the events of a part of the range.
    async fn search_part(
        &self,
        tenant: &Tenant,
        selection: &EventSelection,
        viewer: &Viewer,
        (from, to): (UtcTime, UtcTime),
        after: Option<&EventPlace>,
        limit: usize,
    ) -> Result<EventPage> {
        let from = sql_time(from);
        let logs = self
            .logs_of(tenant.account(), Some(tenant.project()), LogKind::Events)
            .await?;
        let snapshot = self.snapshot(&logs, from, to).await?;
        let narrow = places(snapshot.source(), selection, (from, to), viewer, after, limit + 1);
        let rows = snapshot.rows(&narrow.sql, &narrow.params).await?;
        let mut places = rows.into_iter().map(place).collect::<Result<Vec<_>>>()?;
        let mut more = places.len() > limit;
        places.truncate(limit);
        let (Some(newest), Some(oldest)) = (places.first(), places.last()) else {
            return Ok(EventPage::default());
        };
        let wide = page(snapshot.source(), (oldest.0, newest.0), &places);
        let rows = snapshot.rows(&wide.sql, &wide.params).await?;
        let events = rows.into_iter().map(event).collect::<Result<Vec<_>>>()?;
        more |= events.len() < places.len();
        let next = events.last().filter(|_| more);
        Ok(EventPage {
            next: next.map(|last| (last.envelope.timestamp, last.envelope.event_id.clone())),
            events,
        })
    }
}

/// Selects time and id of the first `most` events after a position.
fn places(
    relation: &str,
    selection: &EventSelection,
    within: (UtcTime, UtcTime),
    viewer: &Viewer,
    after: Option<&EventPlace>,
    most: usize,
) -> Statement {
    let mut statement = Statement::default();
    statement.push(&format!(
        "SELECT epoch_ms(timestamp), event_id FROM {relation} AS events WHERE timestamp >= "
    ));
    statement.time(within.0);
    statement.push(" AND timestamp <= ");
    statement.time(within.1);
    if let Some((time, id)) = after {
        statement.push(" AND (timestamp < ");
        statement.time(*time);
        statement.push(" OR event_id < ");
        statement.text(id);
        statement.push(")");
    }
    statement.and_visible_to(viewer);
    let categories: Vec<_> = selection
        .event_category
        .iter()
        .map(|category| category.as_str())
        .collect();
    if !categories.is_empty() {
        statement.push(" AND event_category");
        statement.is_one_of(categories);
    }
    for (column, names) in [
        ("action", &selection.action),
        ("resource_type", &selection.resource_type),
    ] {
        if !names.is_empty() {
            statement.push(&format!(" AND {column}"));
            statement.is_one_of(names);
        }
    }
    for (column, wanted) in [
        ("resource_id", &selection.resource_id),
        ("source", &selection.source),
    ] {
        if let Some(wanted) = wanted {
            statement.push(&format!(" AND {column} = "));
            statement.text(wanted);
        }
    }
    statement.push(&format!(" ORDER BY timestamp DESC, event_id DESC LIMIT {most}"));
    statement
}

/// Selects the events at these positions, newest first: as many as fit into [`MAX_PAGE_BYTES`], at least one.
fn page(relation: &str, (oldest, newest): (UtcTime, UtcTime), places: &[EventPlace]) -> Statement {
    let mut statement = Statement::default();
    statement.push(&format!(
        "WITH page AS (SELECT event_id, timestamp, received_at, account_id, project_id, tenant_id, event_category, \"action\", \
         resource_type, resource_id, source, resource_data, details, CAST(to_json(meters) AS VARCHAR) AS meters FROM {relation} AS events \
         WHERE timestamp >= "
    ));
    statement.time(oldest);
    statement.push(" AND timestamp <= ");
    statement.time(newest);
    statement.push(" AND event_id");
    statement.is_one_of(places.iter().map(|(_, id)| id));
    statement.push(&format!(
        "), sized AS (SELECT *, sum(strlen(resource_data) + strlen(details) + coalesce(strlen(meters), 0)) OVER newest AS bytes, \
         row_number() OVER newest AS place FROM page WINDOW newest AS (ORDER BY timestamp DESC, event_id DESC)) \
         SELECT event_id, epoch_ms(timestamp), epoch_ms(received_at), account_id, project_id, tenant_id, event_category, \"action\", \
         resource_type, resource_id, source, resource_data, details, meters FROM sized \
         WHERE bytes <= {MAX_PAGE_BYTES} OR place = 1 ORDER BY place"
    ));
    statement
}

fn place(row: Vec<Value>) -> Result<EventPlace> {
    match row.as_slice() {
        [at, Value::String(id)] => Ok((time(at)?, id.clone())),
        _ => Err(Error::internal("a place of an event has other columns")),
    }
}

/// Row of [`page`], whose texts are JSON.
#[derive(Deserialize)]
struct Row(
    String,
    Value,
    Value,
    String,
    String,
    Option<String>,
    Category,
    String,
    String,
    String,
    String,
    String,
    String,
    Option<String>,
);

fn event(row: Vec<Value>) -> Result<LoggedEvent> {
    let Row(
        event_id,
        timestamp,
        received_at,
        account_id,
        project_id,
        tenant_id,
        event_category,
        action,
        resource_type,
        resource_id,
        source,
        resource_data,
        details,
        meters,
    ) = serde_json::from_value(Value::Array(row)).map_err(Error::internal)?;
    let object = |text: &str| serde_json::from_str::<RawObject>(text).map_err(Error::internal);
    let meters: Option<Vec<Meter>> = match meters {
        Some(text) => serde_json::from_str(&text).map_err(Error::internal)?,
        None => None,
    };
    Ok(LoggedEvent {
        received_at: time(&received_at)?,
        envelope: Envelope {
            event_id,
            event_category,
            action,
            resource_type,
            resource_id,
            account_id,
            project_id,
            tenant_id,
            timestamp: time(&timestamp)?,
            source,
            resource_data: object(&resource_data)?,
            details: object(&details)?,
            meters: meters.unwrap_or_default(),
            traceparent: None,
            tracestate: None,
        },
    })
}

fn time(millis: &Value) -> Result<UtcTime> {
    let time = millis.as_i64().and_then(UtcTime::from_millis);
    time.ok_or_else(|| Error::internal(format!("{millis} is no time of an event")))
}
