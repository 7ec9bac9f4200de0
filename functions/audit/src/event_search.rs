//! `POST /events/search`: finds events, newest first.
//!
//! It is served beside aggregation, because both read the log: every event is there from its acceptance on,
//! and stays for good.

use std::collections::BTreeSet;

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use event_log::search::{EventPlace, EventSelection, LoggedEvent};
use events::envelope::Category;
use platform::auth::Viewer;
use platform::auth::permission::ReadEvents;
use platform::http::{Call, OptionalJson, Reply};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 200;
const DAY_MS: u64 = 86_400_000;
/// Range where none is given, in milliseconds.
const DEFAULT_RANGE_MS: u64 = 30 * DAY_MS;
/// Longest range, in milliseconds.
const MAX_RANGE_MS: u64 = 366 * DAY_MS;
/// Most values of a condition.
const MAX_VALUES: usize = 100;

/// Conditions that an event meets, all of them; one that is left out or empty takes every event.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchEvents {
    /// Most events of the page. Default: 50.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: Option<u64>,
    /// `next_cursor` of the page before; the other fields must be the same as there.
    pub cursor: Option<String>,
    /// Any of these categories, such as `external`; at most 100.
    pub event_category: Vec<String>,
    /// Any of these actions, such as `workflow_completed`; at most 100.
    pub action: Vec<String>,
    /// Any of these kinds of resource; at most 100.
    pub resource_type: Vec<String>,
    /// Only events about the resource with this id.
    pub resource_id: Option<String>,
    /// Only events of this publisher, such as `external:github` for the channels whose `source` is `github`.
    pub source: Option<String>,
    /// Earliest time of an event. Default: 30 days before `to`.
    pub from: Option<UtcTime>,
    /// Latest time of an event, at most 366 days after `from`. Default: now, or with a `cursor` the time of
    /// the first page.
    pub to: Option<UtcTime>,
}

/// A page of events.
#[derive(Serialize, JsonSchema)]
pub struct EventList {
    /// Newest first; possibly fewer than `limit` although `next_cursor` leads to more.
    pub events: Vec<LoggedEvent>,
    /// `cursor` of the request for the next page; left out on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Position after a page, with the range of the first page.
#[derive(Serialize, Deserialize)]
struct Position {
    from: UtcTime,
    to: UtcTime,
    after: EventPlace,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("searchEvents")
        .tag("subscriptions")
        .summary("Search events")
        .description(
            "Finds events by what they are about and by their own time, newest first. It sees every event of the project within about a \
             second of its acceptance, and forever: recent ones in the table and archived ones in the log. It does not see which channel \
             received an event, only the `source` that the channel sets, and it cannot search the details. Events of private runs are for the \
             owner of the run and for callers with `workflow_superadmin`. A page that has a `next_cursor` holds `limit` events, fewer where they \
             exceed 2.5 MB.\n\n\
             Limits: a range of 366 days, 200 events a page, 100 values for a condition.",
        )
        .response_with::<200, axum::Json<EventList>, _>(|response| response.description("A page of events, newest first."))
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    OptionalJson(body): OptionalJson<SearchEvents>,
) -> Result<Reply<EventList>> {
    let tenant = call.tenant()?;
    let viewer = Viewer::from_principal(&call.principal);
    let limit = match body.limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => usize::try_from(limit).map_err(Error::internal)?,
        _ => {
            let fault = format!("must be from 1 to {MAX_LIMIT}.");
            return Err(Error::invalid_field("limit", fault));
        }
    };
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let cursor = non_empty(body.cursor);
    let sent_range = (body.from, body.to);
    let mut selection = EventSelection {
        event_category: categories(&body.event_category)?,
        action: names("action", body.action)?,
        resource_type: names("resource_type", body.resource_type)?,
        resource_id: non_empty(body.resource_id),
        source: non_empty(body.source),
        from: UtcTime::EPOCH,
        to: UtcTime::EPOCH,
    };
    // A cursor belongs to what the caller sent: a range by default moves with the time.
    let search = serde_json::to_string(&(
        tenant.account(),
        tenant.project(),
        &viewer,
        &selection,
        sent_range,
    ))
    .map_err(Error::internal)?;
    let position: Option<Position> = match &cursor {
        Some(cursor) => Some(app.tokens.read(&search, ("cursor", cursor)).await?),
        None => None,
    };
    (selection.from, selection.to) = match &position {
        Some(position) => (position.from, position.to),
        None => range(sent_range, call.now)?,
    };
    let after = position.as_ref().map(|position| &position.after);
    let page = app
        .log
        .search_events(&tenant, &selection, &viewer, after, limit)
        .await?;
    let next_cursor = match page.next {
        Some(after) => {
            let (from, to) = (selection.from, selection.to);
            Some(app.tokens.issue(&search, &Position { from, to, after }).await?)
        }
        None => None,
    };
    Ok(Reply::ok(EventList {
        events: page.events,
        next_cursor,
    }))
}

fn range((from, to): (Option<UtcTime>, Option<UtcTime>), now: UtcTime) -> Result<(UtcTime, UtcTime)> {
    let to = to.unwrap_or(now);
    let from = from.unwrap_or_else(|| {
        let millis = i64::try_from(DEFAULT_RANGE_MS).unwrap_or(i64::MAX);
        UtcTime::from_millis(to.as_millis().saturating_sub(millis)).unwrap_or(UtcTime::EPOCH)
    });
    if to < from {
        return Err(Error::invalid_field("to", "is before 'from'."));
    }
    if to.millis_since(from) > MAX_RANGE_MS {
        return Err(Error::invalid_field(
            "to",
            "must be at most 366 days after 'from'.",
        ));
    }
    Ok((from, to))
}

fn categories(names: &[String]) -> Result<BTreeSet<Category>> {
    let category = |name: &String| {
        let category = Category::ALL
            .into_iter()
            .find(|category| category.as_str() == name);
        category.ok_or_else(|| {
            let all = Category::ALL.map(Category::as_str).join(", ");
            Error::invalid_field("event_category", format!("names '{name}'; there are {all}."))
        })
    };
    names.iter().map(category).collect()
}

fn names(field: &str, names: Vec<String>) -> Result<BTreeSet<String>> {
    match names.len() > MAX_VALUES {
        true => Err(Error::invalid_field(
            field,
            format!("has at most {MAX_VALUES} values."),
        )),
        false => Ok(names.into_iter().collect()),
    }
}
