//! Defines the ids of deliveries and the body that is sent for them.

use platform::{Error, Result, UtcTime, ids};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::envelope::Envelope;
use crate::records::deliveries::{DeliveryRecord, DeliveryStatus, SemanticEvaluation};
use crate::records::events::EventRecord;
use crate::subscription::StoredSubscription;

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
// The keys are written in this order, without spaces.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookBody")]
struct Body<'a> {
    /// Event that the delivery is about.
    event: &'a Envelope,
    /// Delivery of the event, and the number of the attempt.
    delivery: &'a DeliveryRef,
}

/// Returns the schemas of a webhook's body and of its parts, by name, for an OpenAPI document; the body's
/// name is `WebhookBody`.
pub fn schemas() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    generator.subschema_for::<Body<'_>>();
    generator.take_definitions(true)
}

pub fn body(event: &Envelope, delivery: &DeliveryRef) -> Result<Vec<u8>> {
    serde_json::to_vec(&Body { event, delivery }).map_err(Error::internal)
}

/// Returns the id of the delivery of an event to a subscription, the same for each match of the event.
pub fn delivery_id(event: &EventRecord, subscription_id: &str) -> String {
    ids::derived_id(event.received_at, &format!("{}#{subscription_id}", event.id))
}

/// Prefix of the workflow ids that the service gives to deliveries. No workflow id from an event may have it:
/// a run under a delivery's workflow id would block that delivery.
pub const RESERVED_ID_PREFIX: &str = "delivery-";

/// Returns the workflow id of the run that carries out the delivery, so that one run starts per event and
/// subscription. A hash replaces the event id of another service where that is too long or has characters
/// that a workflow id must not have.
pub fn workflow_id(event: &EventRecord, subscription_id: &str) -> String {
    let id = format!("{RESERVED_ID_PREFIX}{}-{subscription_id}", event.id);
    if ids::is_workflow_id(&id) {
        return id;
    }
    format!("{RESERVED_ID_PREFIX}{}", delivery_id(event, subscription_id))
}

/// Returns the id of the first run that carries out the delivery. It is the same for each match of the event,
/// so the run starts once.
pub fn first_run_id(event: &EventRecord, subscription_id: &str) -> String {
    ids::derived_id(event.received_at, &format!("{}#{subscription_id}#run", event.id))
}

/// Builds the record of a delivery for a matched event.
pub fn record(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &StoredSubscription,
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
        private_to: None,
        created_at: now,
        updated_at: now,
    }
}
