//! `POST /events/deliveries/search`: what became of deliveries, newest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use events::search::DeliverySelection;
use platform::auth::permission::ReadEvents;
use platform::http::{Call, OptionalJson, Reply};
use platform::records::deliveries::{DeliveryRecord, DeliveryStatus};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;

/// Deliveries of a page where nothing is said.
const DEFAULT_LIMIT: u64 = 50;
/// Most deliveries of a page.
const MAX_LIMIT: u64 = 200;

/// Which deliveries; what is left out, or an empty list, takes all.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchDeliveries {
    /// Most deliveries of the page: 1 to 200, 50 where it is left out.
    pub limit: Option<u64>,
    /// Where to go on: `next_cursor` of the page before, with the same fields.
    pub cursor: Option<String>,
    /// Of this event.
    pub event_id: Option<String>,
    /// Of an event about this.
    pub resource_id: Option<String>,
    /// To this subscription.
    pub subscription_id: Option<String>,
    /// Of one of these statuses.
    pub status: Vec<String>,
    /// To a target of one of these types.
    pub target_type: Vec<String>,
    /// Of an event of one of these categories.
    pub event_category: Vec<String>,
    /// Of an event of one of these actions.
    pub action: Vec<String>,
    /// Of an event about one of these.
    pub resource_type: Vec<String>,
    /// Made at this time or later.
    pub from: Option<UtcTime>,
    /// Made at this time or earlier.
    pub to: Option<UtcTime>,
}

/// A page of deliveries.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryList {
    /// The deliveries, newest first. Where few of many match, there may be fewer than asked for, and yet more to come.
    pub deliveries: Vec<DeliveryRecord>,
    /// What the next page is asked for with; left out after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("searchDeliveries")
        .tag("subscriptions")
        .summary("Search deliveries")
        .response::<200, axum::Json<DeliveryList>>()
}

pub async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    OptionalJson(body): OptionalJson<SearchDeliveries>,
) -> Result<Reply<DeliveryList>> {
    let tenant = call.tenant()?;
    let limit = match body.limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => usize::try_from(limit).map_err(Error::internal)?,
        _ => {
            return Err(Error::invalid(format!(
                "The field 'limit' must be from 1 to {MAX_LIMIT}."
            )));
        }
    };
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let cursor = given(body.cursor);
    let selection = DeliverySelection {
        event_id: given(body.event_id),
        resource_id: given(body.resource_id),
        subscription_id: given(body.subscription_id),
        status: body
            .status
            .iter()
            .map(|text| status(text))
            .collect::<Result<_>>()?,
        target_type: body.target_type,
        event_category: body.event_category,
        action: body.action,
        resource_type: body.resource_type,
        from: body.from,
        to: body.to,
    };
    let page = app
        .search
        .page(&tenant, &selection, limit, cursor.as_deref())
        .await?;
    Ok(Reply::ok(DeliveryList {
        deliveries: page.deliveries,
        next_cursor: page.next_cursor,
    }))
}

fn status(text: &str) -> Result<DeliveryStatus> {
    let found = DeliveryStatus::ALL
        .into_iter()
        .find(|status| status.as_str() == text);
    found.ok_or_else(|| {
        Error::invalid(format!(
            "The field 'status' names '{text}'; there are {}.",
            DeliveryStatus::ALL.map(DeliveryStatus::as_str).join(", ")
        ))
    })
}
