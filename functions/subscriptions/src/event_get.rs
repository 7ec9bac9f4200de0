//! `GET /events/{event_id}`: returns one event, the deliveries that came of it, and why each other
//! subscription did not match.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::envelope::Envelope;
use events::matching::{EventToMatch, SubscriptionSet, Verdict};
use events::payload;
use events::records::deliveries::{DeliveryIndex, DeliveryRecord, DeliveryStatus};
use events::records::events::EventRecord;
use events::records::subscriptions::SubscriptionRecord;
use platform::auth::Viewer;
use platform::auth::permission::ReadEvents;
use platform::http::{Call, Path, Reply};
use platform::{Error, Result, Tenant, UtcTime, low_priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;

/// Most entries of each list of an answer.
const MAX_LISTED: usize = 1_000;

/// The event in the path.
#[derive(Deserialize, JsonSchema)]
pub struct EventPath {
    /// Id of the event, as ingest answered it or a delivery names it.
    pub event_id: String,
}

/// An event, and what came of it.
#[derive(Serialize, JsonSchema)]
pub struct EventDetail {
    /// The event, as every receiver gets it.
    pub event: Envelope,
    /// Time at which the service accepted the event.
    pub received_at: UtcTime,
    /// Time at which the event was compared with the subscriptions; left out before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_at: Option<UtcTime>,
    /// Deliveries of the event, newest first: of the subscriptions that matched it.
    pub deliveries: Vec<EventDelivery>,
    /// The other subscriptions, as they are now, and why each has no delivery of the event.
    pub not_matched: Vec<EventNotMatched>,
    /// Whether a list was cut after 1,000 entries.
    pub truncated: bool,
}

/// A delivery of an event.
#[derive(Serialize, JsonSchema)]
pub struct EventDelivery {
    /// Id of the subscription that matched.
    pub subscription_id: String,
    /// Name of the subscription when it matched.
    pub subscription_name: String,
    /// Id for `GET /events/deliveries/{delivery_id}`.
    pub delivery_id: String,
    /// State of the delivery.
    pub status: DeliveryStatus,
    /// Why the last attempt failed, or why none follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// A subscription without a delivery of an event.
#[derive(Serialize, JsonSchema)]
pub struct EventNotMatched {
    /// Id for `GET /events/subscriptions/{subscription_id}`.
    pub subscription_id: String,
    /// Name for people, as it is now.
    pub subscription_name: String,
    /// The first condition that the event does not meet, or why the subscription has no delivery though it
    /// would match now.
    pub why_not: String,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getEvent")
        .tag("subscriptions")
        .summary("Get an event")
        .description(
            "Reads one event with its envelope, its deliveries, and why each other subscription has none. The reasons are those of the \
             subscriptions as they are now, which may have changed since the event was matched; the deliveries are those that were \
             made. A semantic condition is not evaluated. An event is kept for 90 days after it is archived, unless the operator sets \
             another time; `POST /events/search` finds older ones. Events of private runs are for the owner of the run and for callers with \
             `workflow_superadmin`.",
        )
        .response_with::<200, axum::Json<EventDetail>, _>(|response| response.description("The event."))
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    Path(path): Path<EventPath>,
) -> Result<Reply<EventDetail>> {
    let tenant = call.tenant()?;
    let viewer = Viewer::from_principal(&call.principal);
    let record = app.event((&tenant, &viewer), &path.event_id).await?;
    let event = payload::whole(&app.redelivery.parts.objects, &record).await?;
    let (deliveries, more) = deliveries(&app, (&tenant, &viewer), &record.id, call.now).await?;
    let mut others = app.subscriptions.list(&tenant).await?;
    others.retain(|subscription| {
        deliveries
            .iter()
            .all(|delivery| delivery.subscription_id != subscription.id)
    });
    let truncated = more || others.len() > MAX_LISTED;
    others.truncate(MAX_LISTED);
    let verdicts = verdicts(&tenant, others, &record, &event).await?;
    let not_matched = verdicts.iter().map(|verdict| EventNotMatched {
        why_not: why_not(verdict, &record),
        subscription_id: verdict.subscription.id.clone(),
        subscription_name: verdict.subscription.name.clone(),
    });
    Ok(Reply::ok(EventDetail {
        event,
        received_at: record.received_at,
        matched_at: record.matched_at,
        deliveries: deliveries.into_iter().map(EventDelivery::from).collect(),
        not_matched: not_matched.collect(),
        truncated,
    }))
}

impl App {
    /// Returns an event that the viewer may see; 404 for any other.
    pub async fn event(&self, (tenant, viewer): (&Tenant, &Viewer), id: &str) -> Result<EventRecord> {
        let event = self.redelivery.parts.events.find(tenant, id).await?;
        event
            .filter(|event| viewer.sees(event.private_to.as_deref()))
            .ok_or_else(|| Error::not_found("event", id))
    }
}

impl From<DeliveryRecord> for EventDelivery {
    fn from(delivery: DeliveryRecord) -> Self {
        Self {
            subscription_id: delivery.subscription_id,
            subscription_name: delivery.subscription_name,
            delivery_id: delivery.id,
            status: delivery.status,
            last_error: delivery.last_error,
        }
    }
}

/// Returns the deliveries of an event that the viewer may see, newest first, and whether there are more.
async fn deliveries(
    app: &App,
    (tenant, viewer): (&Tenant, &Viewer),
    event_id: &str,
    now: UtcTime,
) -> Result<(Vec<DeliveryRecord>, bool)> {
    let deliveries = &app.redelivery.parts.deliveries;
    let index = DeliveryIndex::Event(event_id.to_owned());
    let latest = UtcTime::EPOCH.plus_ms(u64::MAX);
    let (summaries, more) = deliveries
        .list(tenant, &index, UtcTime::EPOCH, (latest, None), MAX_LISTED)
        .await?;
    let ids = summaries.iter().map(|summary| summary.id.as_str());
    let mut visible = deliveries.find_all_unexpired(tenant, ids, now).await?;
    visible.retain(|delivery| viewer.sees(delivery.private_to.as_deref()));
    Ok((visible, more))
}

async fn verdicts(
    tenant: &Tenant,
    subscriptions: Vec<SubscriptionRecord>,
    record: &EventRecord,
    event: &Envelope,
) -> Result<Vec<Verdict>> {
    let (text, envelope) = (event.to_json()?, event.clone());
    let (lineage, private_to) = (record.lineage.clone(), record.private_to.clone());
    // Conditions may compute for as long as their limit of steps allows.
    let compared = low_priority::run(tenant.account(), async move {
        SubscriptionSet::compile(&subscriptions).explain(&EventToMatch {
            envelope: &envelope,
            text: &text,
            lineage: &lineage,
            private_to: private_to.as_deref(),
        })
    });
    compared.await?
}

fn why_not(verdict: &Verdict, record: &EventRecord) -> String {
    let addressee = record.addressee.as_deref();
    if let Some(addressee) = addressee.filter(|id| *id != verdict.subscription.id) {
        return format!("the event is a test of the subscription '{addressee}' alone");
    }
    match &verdict.why_not {
        Some(why) => why.clone(),
        None if record.matched_at.is_none() => "the event is not matched yet".to_owned(),
        None => "it would match now; it was created or changed after the event was matched, or its delivery is no longer kept".to_owned(),
    }
}
