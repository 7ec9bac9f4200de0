//! `POST /events/deliveries/search`: searches deliveries and their results, newest first.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::envelope::Category;
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use events::search::DeliverySelection;
use events::target::TARGET_TYPES;
use platform::auth::Viewer;
use platform::auth::permission::ReadEvents;
use platform::http::{Call, OptionalJson, Reply};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 200;

/// Conditions that a delivery meets, all of them; one that is left out or empty takes every delivery.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchDeliveries {
    /// Most deliveries of the page. Default: 50.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: Option<u64>,
    /// `next_cursor` of the page before; the other fields must be the same as there.
    pub cursor: Option<String>,
    /// Only deliveries of the event with this id.
    pub event_id: Option<String>,
    /// Only deliveries of events about the resource with this id.
    pub resource_id: Option<String>,
    /// Only deliveries to the subscription with this id.
    pub subscription_id: Option<String>,
    /// Any of evaluating, pending, running, retrying, succeeded, failed, cancelled.
    pub status: Vec<String>,
    /// Any of these kinds of target: `webhook`, `workflow`, `agent`, `process`.
    pub target_type: Vec<String>,
    /// Any of these categories of the event, such as `content`.
    pub event_category: Vec<String>,
    /// Any of these actions of the event, such as `workflow_completed`.
    pub action: Vec<String>,
    /// Any of these kinds of resource that the event is about.
    pub resource_type: Vec<String>,
    /// Only deliveries created at this time or later.
    pub from: Option<UtcTime>,
    /// Only deliveries created at this time or earlier.
    pub to: Option<UtcTime>,
}

/// A page of deliveries.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryList {
    /// Newest first; possibly fewer than `limit` although `next_cursor` leads to more.
    pub deliveries: Vec<DeliveryRecord>,
    /// `cursor` of the request for the next page; left out on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("searchDeliveries")
        .tag("subscriptions")
        .summary("Search deliveries")
        .description(
            "Finds deliveries by event, subscription, status and time, newest first: whether an event reached its receiver, and why \
             not. It retries nothing. A page that has a `next_cursor` holds `limit` deliveries, fewer where they exceed 6.1 MB or are \
             not found within ten seconds. A delivery shows in it a moment after it changed. Without `from`, the status `pending` finds deliveries that wait for their first attempt \
             since at most a day.",
        )
        .response_with::<200, axum::Json<DeliveryList>, _>(|response| response.description("A page of deliveries, newest first."))
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    OptionalJson(body): OptionalJson<SearchDeliveries>,
) -> Result<Reply<DeliveryList>> {
    let tenant = call.tenant()?;
    let limit = match body.limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => usize::try_from(limit).map_err(Error::internal)?,
        _ => {
            return Err(Error::invalid_field(
                "limit",
                format!("must be from 1 to {MAX_LIMIT}."),
            ));
        }
    };
    let viewer = Viewer::from_principal(&call.principal);
    let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let cursor = non_empty(body.cursor);
    let selection = DeliverySelection {
        event_id: non_empty(body.event_id),
        resource_id: non_empty(body.resource_id),
        subscription_id: non_empty(body.subscription_id),
        status: body
            .status
            .iter()
            .map(|text| status("status", text))
            .collect::<Result<_>>()?,
        target_type: among("target_type", body.target_type, &TARGET_TYPES)?,
        event_category: among(
            "event_category",
            body.event_category,
            &Category::ALL.map(|category| category.as_str()),
        )?,
        action: body.action,
        resource_type: body.resource_type,
        response_status: Vec::new(),
        error: None,
        from: body.from,
        to: body.to,
    };
    let page = app
        .search
        .page(
            (&tenant, &viewer),
            &selection,
            limit,
            cursor.as_deref(),
            &app.platform.clock,
        )
        .await?;
    Ok(Reply::ok(DeliveryList {
        deliveries: page.deliveries,
        next_cursor: page.next_cursor,
    }))
}

/// Refuses a name that no delivery has.
pub fn among(field: &str, names: Vec<String>, all: &[&str]) -> Result<Vec<String>> {
    match names.iter().find(|name| !all.contains(&name.as_str())) {
        None => Ok(names),
        Some(name) => Err(Error::invalid_field(
            field,
            format!("names '{name}'; there are {}.", all.join(", ")),
        )),
    }
}

/// Reads the status that a field names.
pub fn status(field: &str, text: &str) -> Result<DeliveryStatus> {
    let status = DeliveryStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == text);
    status.ok_or_else(|| {
        Error::invalid_field(
            field,
            format!(
                "names '{text}'; there are {}.",
                DeliveryStatus::ALL.map(DeliveryStatus::as_str).join(", ")
            ),
        )
    })
}
