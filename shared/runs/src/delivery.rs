//! The runs that carry out deliveries: which one a subscription's target asks for, and what it begins with.

use events::delivery::{DeliveryRef, workflow_id};
use events::envelope::Envelope;
use events::subscription::{Subscription, Target};
use platform::records::deliveries::DeliveryWrite;
use platform::records::events::EventRecord;
use platform::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::{Map, Value};
use workflow::Payload;
use workflow::engine::{IdReuse, StartRun};
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

/// The run that delivers an event to a subscription. `write` makes or changes its delivery with the run's beginning.
pub fn start(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &Subscription,
    delivery: &DeliveryRef,
    write: DeliveryWrite,
) -> Result<StartRun> {
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
        ..StartRun::new(workflow_type, &workflow_id(event, &subscription.id), input)
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
        memo,
        ..About::default()
    }
}
