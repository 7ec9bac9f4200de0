//! The runs that carry out deliveries: which one a subscription's target asks for, and what it begins with.

use events::delivery::{DeliveryRef, RESERVED_ID_PREFIX, workflow_id};
use events::envelope::Envelope;
use events::path;
use events::subscription::{Subscription, Target};
use platform::records::deliveries::DeliveryWrite;
use platform::records::events::EventRecord;
use platform::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::{Map, Value};
use workflow::Payload;
use workflow::engine::{IdReuse, MAX_WORKFLOW_ID, StartRun, is_workflow_id};
use workflow::state::About;

use crate::webhook_delivery;

/// Who started a run that no user did.
const NOBODY: &str = "unknown";

/// What a run that was started for an event begins with.
#[derive(Serialize)]
struct WorkflowInput<'a> {
    vars: &'a Map<String, Value>,
    event: &'a Envelope,
    delivery: &'a DeliveryRef,
}

/// The workflow id of the run that delivers an event to a subscription. 400 where the target takes it from the event, and the event
/// has none that fits.
pub fn workflow_id_of(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &Subscription,
) -> Result<String> {
    match business_id_path(subscription) {
        Some(path) => business_id(envelope, path),
        None => Ok(workflow_id(event, &subscription.id)),
    }
}

/// The path to the workflow id in an event; None where each event has a run of its own.
pub fn business_id_path(subscription: &Subscription) -> Option<&str> {
    match &subscription.target {
        Target::Webhook(_) => None,
        Target::Workflow(workflow) => workflow.workflow_id.as_deref(),
    }
}

fn business_id(envelope: &Envelope, path: &str) -> Result<String> {
    let event: Value = serde_json::from_str(&envelope.to_json()?).map_err(Error::internal)?;
    let refused = |what: &str| {
        Error::invalid(format!(
            "The path '{path}' of 'target.workflow_id' leads to {what}. A workflow id is a text or an integer of 1 to \
             {MAX_WORKFLOW_ID} characters, without '#', '/' and control characters."
        ))
    };
    let id = match path::find(&event, path) {
        None => return Err(refused("nothing in the event")),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => number.to_string(),
        Some(_) => return Err(refused("a value that is neither a text nor an integer")),
    };
    if !is_workflow_id(&id) {
        return Err(refused(
            "a value that is empty, too long or holds other characters",
        ));
    }
    if id.starts_with(RESERVED_ID_PREFIX) {
        return Err(Error::invalid(format!(
            "The path '{path}' of 'target.workflow_id' leads to a value that begins with '{RESERVED_ID_PREFIX}', as only the \
             service's own workflow ids do."
        )));
    }
    Ok(id)
}

/// The run that delivers an event to a subscription. `write` makes or changes its delivery with the run's beginning.
pub fn start(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &Subscription,
    delivery: &DeliveryRef,
    write: DeliveryWrite,
) -> Result<StartRun> {
    let workflow_id = workflow_id_of(event, envelope, subscription)?;
    let (workflow_type, input) = match &subscription.target {
        Target::Webhook(_) => (
            webhook_delivery::WORKFLOW_TYPE,
            Payload::of(&webhook_delivery::Input {
                event_id: event.id.clone(),
                delivery: delivery.clone(),
                tried: 0,
                late_since: None,
            }),
        ),
        Target::Workflow(workflow) => (
            workflow.endpoint.as_str(),
            Payload::of(&WorkflowInput {
                vars: &workflow.vars,
                event: envelope,
                delivery,
            }),
        ),
    };
    let input = input.map_err(|failure| Error::new(ErrorKind::PayloadTooLarge, failure.message))?;
    let mut lineage = event.lineage.clone();
    lineage.push(subscription.id.clone());
    let is_first = matches!(write, DeliveryWrite::Insert(_));
    Ok(StartRun {
        about: about(event, envelope, subscription, delivery),
        id_reuse: if is_first {
            IdReuse::Never
        } else {
            IdReuse::AfterEnd
        },
        lineage,
        delivery: Some(write),
        ..StartRun::new(workflow_type, &workflow_id, input)
    })
}

fn about(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &Subscription,
    delivery: &DeliveryRef,
) -> About {
    let mut memo = Map::from_iter([
        (
            "subscription_id".to_owned(),
            Value::from(subscription.id.as_str()),
        ),
        ("event_id".to_owned(), Value::from(event.id.as_str())),
        ("delivery_id".to_owned(), Value::from(delivery.id.as_str())),
        (
            "run_as_role".to_owned(),
            serde_json::to_value(subscription.run_as_role).unwrap_or_default(),
        ),
    ]);
    if let Target::Workflow(workflow) = &subscription.target
        && let Some(class) = &workflow.workflow_class
    {
        memo.insert("workflow_class".to_owned(), Value::from(class.as_str()));
    }
    About {
        initiated_by: NOBODY.to_owned(),
        tenant_id: envelope.tenant_id.clone(),
        document_id: envelope.document_id().map(str::to_owned),
        event_name: Some(envelope.action.clone()),
        rule_id: Some(subscription.id.clone()),
        rule_name: Some(subscription.name.clone()),
        run_as_role: Some(subscription.run_as_role),
        memo,
        ..About::default()
    }
}
