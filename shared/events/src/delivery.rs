//! What a delivery is called, and what is sent for it.

use platform::records::deliveries::{DeliveryRecord, DeliveryStatus, SemanticEvaluation};
use platform::records::events::EventRecord;
use platform::{Error, Result, UtcTime, ids};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::envelope::Envelope;
use crate::subscription::Subscription;

/// The part `delivery` of what is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(
    rename = "DeliveryAttemptReference",
    description = "The delivery and the attempt that a request belongs to."
)]
pub struct DeliveryRef {
    /// Delivery intent id, the same in every attempt: receivers deduplicate by it.
    pub id: String,
    /// Subscription that matched the event.
    pub subscription_id: String,
    /// Number of the attempt, from 1.
    #[schemars(range(min = 1))]
    pub attempt: u32,
}

/// Body of a delivery to a webhook.
// The keys are written in this order, without a space between the parts.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookBody")]
struct Body<'a> {
    /// What happened.
    event: &'a Envelope,
    /// Which delivery of the event this is, and which attempt.
    delivery: &'a DeliveryRef,
}

/// The schemas of a webhook's body and of its parts, by name, for an OpenAPI document; that of the body is `WebhookBody`.
pub fn schemas() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    generator.subschema_for::<Body<'_>>();
    generator.take_definitions(true)
}

/// The body of a webhook's request.
pub fn body(event: &Envelope, delivery: &DeliveryRef) -> Result<Vec<u8>> {
    serde_json::to_vec(&Body { event, delivery }).map_err(Error::internal)
}

/// The id of the delivery of an event to a subscription, the same however often the event is matched.
pub fn delivery_id(event: &EventRecord, subscription_id: &str) -> String {
    ids::derived_id(event.received_at, &format!("{}#{subscription_id}", event.id))
}

/// Beginning of the workflow ids that the service gives to deliveries. No other id that comes from an event may have it: a run of the
/// id of a delivery would keep the delivery from being made.
pub const RESERVED_ID_PREFIX: &str = "delivery-";

/// The workflow id of the run that carries it out: with it, one run is started for an event and a subscription. An event of another
/// service may have an id that is too long for that, or holds what no workflow id does.
pub fn workflow_id(event: &EventRecord, subscription_id: &str) -> String {
    let id = format!("{RESERVED_ID_PREFIX}{}-{subscription_id}", event.id);
    let fits = |character: char| !character.is_control() && !matches!(character, '#' | '/');
    if id.chars().count() <= ids::MAX_ID_LENGTH && id.chars().all(fits) {
        return id;
    }
    format!("{RESERVED_ID_PREFIX}{}", delivery_id(event, subscription_id))
}

/// The id of the first run that carries it out, the same however often the event is matched: it is started
/// once.
pub fn first_run_id(event: &EventRecord, subscription_id: &str) -> String {
    ids::derived_id(event.received_at, &format!("{}#{subscription_id}#run", event.id))
}

/// A delivery of an event that was matched.
pub fn record(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &Subscription,
    status: DeliveryStatus,
    semantic_evaluation: Option<SemanticEvaluation>,
    now: UtcTime,
) -> DeliveryRecord {
    DeliveryRecord {
        id: delivery_id(event, &subscription.id),
        event_id: event.id.clone(),
        event_category: envelope.event_category.as_str().to_owned(),
        action: envelope.action.clone(),
        resource_type: envelope.resource_type.clone(),
        resource_id: envelope.resource_id.clone(),
        source: envelope.source.clone(),
        subscription_id: subscription.id.clone(),
        subscription_name: subscription.name.clone(),
        target_type: subscription.target.kind().to_owned(),
        status,
        attempt_count: 0,
        attempts: Vec::new(),
        next_attempt_at: None,
        last_error: None,
        workflow_id: None,
        workflow_run_id: None,
        semantic_evaluation,
        created_at: now,
        updated_at: now,
    }
}
