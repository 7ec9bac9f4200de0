//! Plans the run that carries out a delivery: its workflow type and its input, from the subscription's
//! target.

use events::delivery::{DeliveryRef, RESERVED_ID_PREFIX, first_run_id, workflow_id};
use events::envelope::Envelope;
use events::path;
use events::records::deliveries::{DeliveryStatus, DeliveryWrite};
use events::records::events::EventRecord;
use events::records::lanes::LanePlace;
use events::subscription::{AgentTarget, ProcessTarget, RunType, StoredSubscription, Target, WorkflowTarget};
use events::target::OnRunning;
use events::template::Filling;
use platform::{Error, ErrorKind, Result, ids};
use process::Data;
use process::records::processes::{ProcessRef, Processes};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use workflow::engine::{IdReuse, StartRun};
use workflow::state::About;
use workflow::{Failure, Payload};

use crate::evaluation::{self, EvaluationInput, Question, Then};
use crate::interactions::GENERAL;
use crate::process::Program;
use crate::queued_start::{self, QueuedInput};
use crate::webhook_delivery;

/// Value of `initiated_by` for a run that no user started.
const NOBODY: &str = "unknown";

/// Input of a workflow run that an event starts.
#[derive(Serialize)]
struct WorkflowInput<'a> {
    vars: &'a Map<String, Value>,
    event: &'a Envelope,
    delivery: &'a DeliveryRef,
}

/// Value of `source_type` for agents' runs that a subscription starts.
const SOURCE_TYPE: &str = "event_subscription";

/// Input of a conversation with an agent.
#[derive(Serialize)]
struct AgentInput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    interaction_ref: Option<&'a str>,
    data: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_iterations: Option<u32>,
    source_type: &'static str,
    subscription_id: &'a str,
    event_ref: Value,
    delivery_id: &'a str,
}

/// The run that a target describes.
#[derive(Clone, Debug)]
pub struct Planned {
    pub workflow_type: String,
    /// Reference of the definition that the run executes, where its type needs one: a [`Program`].
    pub program: Option<String>,
    pub input: Payload,
}

/// Returns the workflow id of the run that delivers an event to a subscription. Fails with 400 where the
/// target takes the id from the event, and the event has no valid one.
pub fn workflow_id_of(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &StoredSubscription,
) -> Result<String> {
    let own = || workflow_id(event, &subscription.id);
    match subscription.target.workflow_id_path() {
        // The run that waits has an id of its own.
        Some(path) if subscription.target.on_running() == OnRunning::Queue => {
            business_id(envelope, path).map(|_| own())
        }
        Some(path) => business_id(envelope, path),
        None => Ok(own()),
    }
}

/// Whether events share the run that delivers them.
pub fn shares_run(target: &Target) -> bool {
    target.workflow_id_path().is_some() && target.on_running() != OnRunning::Queue
}

/// Returns the place of a delivery among those that wait for each other; None where it waits for none.
pub fn lane_of(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &StoredSubscription,
) -> Result<Option<LanePlace>> {
    let target = &subscription.target;
    let key = match target {
        Target::Webhook(webhook) => match &webhook.ordered_by {
            Some(path) => key_of(envelope, path)?,
            None => None,
        },
        _ => match target.workflow_id_path() {
            Some(path) if target.on_running() == OnRunning::Queue => Some(business_id(envelope, path)?),
            _ => None,
        },
    };
    Ok(key.map(|key| LanePlace::new(&subscription.id, &key, event)))
}

/// Returns the key at a path; None where there is none. A text and the number that it reads as are one key.
fn key_of(envelope: &Envelope, path: &str) -> Result<Option<String>> {
    let event: Value = serde_json::from_str(&envelope.to_json()?).map_err(Error::internal)?;
    let key = path::find(&event, path).filter(|key| !key.is_null());
    Ok(key.map(|key| key.as_str().map_or_else(|| key.to_string(), str::to_owned)))
}

fn business_id(envelope: &Envelope, path: &str) -> Result<String> {
    let event: Value = serde_json::from_str(&envelope.to_json()?).map_err(Error::internal)?;
    let refused = |what: &str| {
        Error::invalid(format!(
            "The path '{path}' of 'target.workflow_id' leads to {what}. A workflow id is a text or an integer of 1 to \
             {} characters, without '#', '/' and control characters.",
            ids::MAX_ID_LENGTH
        ))
    };
    let id = match path::find(&event, path) {
        None => return Err(refused("nothing in the event")),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => number.to_string(),
        Some(_) => return Err(refused("a value that is neither a text nor an integer")),
    };
    if !ids::is_workflow_id(&id) {
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

/// Plans the run for the target of a subscription. Fails permanently where templates cannot be filled or a
/// process does not exist: a retry would have the same result.
pub async fn plan(
    processes: &Processes,
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &StoredSubscription,
    delivery: &DeliveryRef,
) -> Result<Planned> {
    let workflow_type = subscription
        .target
        .endpoint()
        .unwrap_or(webhook_delivery::WORKFLOW_TYPE);
    let mut program = None;
    let input = match &subscription.target {
        Target::Webhook(_) => Payload::from_value(&webhook_delivery::WebhookInput {
            event_id: event.id.clone(),
            delivery: delivery.clone(),
            tried: 0,
            late_since: None,
            lane: lane_of(event, envelope, subscription)?,
            waits: 0,
            slot: None,
        }),
        Target::Workflow(workflow) => workflow_input(workflow, envelope, delivery)?,
        Target::Agent(agent) => Payload::from_value(&agent_input(agent, envelope, subscription, delivery)?),
        Target::Process(target) => {
            program = Some(program_of(processes, target, envelope, subscription).await?);
            Payload::from_value(process_input(target, envelope, delivery)?.as_raw())
        }
    };
    let planned = Planned {
        workflow_type: workflow_type.to_owned(),
        program,
        input: input.map_err(too_large)?,
    };
    match (
        subscription.target.on_running(),
        subscription.target.workflow_id_path(),
    ) {
        (OnRunning::Queue, Some(path)) => {
            let lane = lane_of(event, envelope, subscription)?;
            let lane = lane.ok_or_else(|| Error::internal("a queued delivery has no lane"))?;
            wrap_in_queue(planned, lane, business_id(envelope, path)?)
        }
        _ => Ok(planned),
    }
}

fn too_large(failure: Failure) -> Error {
    Error::new(ErrorKind::PayloadTooLarge, failure.message)
}

/// Wraps the run of a target into the run that waits for its turn.
fn wrap_in_queue(planned: Planned, lane: LanePlace, workflow_id: String) -> Result<Planned> {
    let input = QueuedInput {
        lane,
        workflow_id,
        then: Then {
            workflow_type: planned.workflow_type,
            program: planned.program,
            input: planned.input.read().map_err(too_large)?,
        },
        waits: 0,
    };
    Ok(Planned {
        workflow_type: queued_start::WORKFLOW_TYPE.to_owned(),
        program: None,
        input: Payload::from_value(&input).map_err(too_large)?,
    })
}

/// Returns the input of a workflow, or the data of its signal: `{ vars, event, delivery }` with the target's
/// data merged over it.
pub fn workflow_input(
    target: &WorkflowTarget,
    envelope: &Envelope,
    delivery: &DeliveryRef,
) -> Result<std::result::Result<Payload, Failure>> {
    let input = WorkflowInput {
        vars: &target.vars,
        event: envelope,
        delivery,
    };
    if target.data.is_empty() {
        return Ok(Payload::from_value(&input));
    }
    let input = serde_json::to_string(&input).map_err(Error::internal)?;
    merged("workflow", &input, &target.data, envelope, delivery)
        .map(|data| Payload::from_value(data.as_raw()))
}

/// Merges filled data over the input of a run.
fn merged(
    run: &str,
    input: &str,
    data: &Map<String, Value>,
    envelope: &Envelope,
    delivery: &DeliveryRef,
) -> Result<Data> {
    let refused = |cause| Error::invalid(format!("The input of the {run} is refused: {cause}."));
    let data = filled(&Filling::new(&envelope.to_json()?, &delivery.id), data)?;
    let data = Data::parse(&data).map_err(refused)?;
    Ok(Data::parse(input).map_err(refused)?.merged(&data))
}

fn agent_input<'a>(
    agent: &'a AgentTarget,
    envelope: &Envelope,
    subscription: &'a StoredSubscription,
    delivery: &'a DeliveryRef,
) -> Result<AgentInput<'a>> {
    let event = envelope.to_json()?;
    let filling = Filling::new(&event, &delivery.id);
    Ok(AgentInput {
        interaction_ref: agent.interaction_ref.as_deref(),
        data: RawValue::from_string(filled(&filling, &agent.data)?).map_err(Error::internal)?,
        max_iterations: agent.max_iterations,
        source_type: SOURCE_TYPE,
        subscription_id: &subscription.id,
        event_ref: filling.reference(),
        delivery_id: &delivery.id,
    })
}

/// Builds the input of a process: `{ event, delivery }` with the target's data merged over it.
fn process_input(target: &ProcessTarget, envelope: &Envelope, delivery: &DeliveryRef) -> Result<Data> {
    let refused = |cause| Error::invalid(format!("The input of the process is refused: {cause}."));
    let event = envelope.to_json()?;
    let data = filled(&Filling::new(&event, &delivery.id), &target.data)?;
    let data = Data::parse(&data).map_err(refused)?;
    let delivery = serde_json::to_string(delivery).map_err(Error::internal)?;
    let given = Data::object([
        ("event", Data::parse(&event).map_err(refused)?),
        ("delivery", Data::parse(&delivery).map_err(refused)?),
    ]);
    Ok(given.merged(&data))
}

fn filled(filling: &Filling<'_>, data: &Map<String, Value>) -> Result<String> {
    let data = Value::Object(data.clone());
    filling
        .fill(&data)
        .map_err(|cause| Error::invalid(format!("The field 'target.data' cannot be filled: {cause}.")))
}

/// Resolves the definition that a process target names at this moment.
async fn program_of(
    processes: &Processes,
    target: &ProcessTarget,
    envelope: &Envelope,
    subscription: &StoredSubscription,
) -> Result<String> {
    let digest = match (&target.process_ref, &subscription.definition_digest) {
        (Some(reference), _) => {
            let reference = ProcessRef::parse("target.process_ref", reference)?;
            let tenant = envelope.tenant()?;
            let found = processes.require(&tenant, "target.process_ref", &reference);
            found.await?.digest
        }
        (None, Some(digest)) => digest.clone(),
        (None, None) => return Err(Error::invalid("The target names no process.")),
    };
    let is_supervised = target.run_type == RunType::Supervised;
    Ok(Program {
        digest,
        is_supervised,
    }
    .to_string())
}

/// Returns the first run of a delivery: an evaluation where `write` sets the delivery to `evaluating`, else
/// the run that delivers.
pub async fn start(
    processes: &Processes,
    (event, envelope): (&EventRecord, &Envelope),
    subscription: &StoredSubscription,
    delivery: &DeliveryRef,
    write: DeliveryWrite,
) -> Result<StartRun> {
    let workflow_id = workflow_id_of(event, envelope, subscription)?;
    let planned = plan(processes, event, envelope, subscription, delivery).await?;
    let planned = match &subscription.filter.semantic_condition {
        Some(condition) if is_evaluated(&write) => {
            let question = Question {
                event_id: event.id.clone(),
                subscription_id: subscription.id.clone(),
                condition: condition.clone(),
            };
            wrap_in_evaluation(planned, question)?
        }
        _ => planned,
    };
    let mut lineage = event.lineage.clone();
    lineage.push(subscription.id.clone());
    let is_first = matches!(write, DeliveryWrite::Insert(_));
    let shares_run = shares_run(&subscription.target);
    // After its end another event starts another run, but a repeated match of this one must not.
    let starts_again = subscription.target.on_running() == OnRunning::Signal;
    // A derived workflow id is reserved for the delivery, so no record has to protect it.
    let has_own_id = is_first && !shares_run;
    Ok(StartRun {
        run_id: (has_own_id || is_first && starts_again).then(|| first_run_id(event, &subscription.id)),
        is_unnamed: has_own_id,
        about: about(event, envelope, subscription, delivery)?,
        id_reuse: if is_first && !starts_again {
            IdReuse::Never
        } else {
            IdReuse::AfterEnd
        },
        lineage,
        program: planned.program,
        delivery: Some(write),
        ..StartRun::new(&planned.workflow_type, &workflow_id, planned.input)
    })
}

/// Wraps the run of a target into the evaluation that precedes it.
fn wrap_in_evaluation(planned: Planned, question: Question) -> Result<Planned> {
    let then = Then {
        workflow_type: planned.workflow_type,
        program: planned.program,
        input: planned.input.read().map_err(too_large)?,
    };
    Ok(Planned {
        workflow_type: evaluation::WORKFLOW_TYPE.to_owned(),
        program: None,
        input: Payload::from_value(&EvaluationInput { question, then }).map_err(too_large)?,
    })
}

fn is_evaluated(write: &DeliveryWrite) -> bool {
    let status = match write {
        DeliveryWrite::Insert(record) => record.status,
        DeliveryWrite::Change(change) => change.status,
    };
    status == DeliveryStatus::Evaluating
}

fn about(
    event: &EventRecord,
    envelope: &Envelope,
    subscription: &StoredSubscription,
    delivery: &DeliveryRef,
) -> Result<About> {
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
    let mut interaction_name = None;
    match &subscription.target {
        Target::Workflow(workflow) => {
            if let Some(class) = &workflow.workflow_class {
                memo.insert("workflow_class".to_owned(), Value::from(class.as_str()));
            }
        }
        Target::Agent(agent) => {
            interaction_name = Some(agent.interaction_ref.as_deref().unwrap_or(GENERAL).to_owned());
            let event = envelope.to_json()?;
            let reference = Filling::new(&event, &delivery.id).reference();
            memo.insert("source_type".to_owned(), Value::from(SOURCE_TYPE));
            memo.insert("event_ref".to_owned(), reference);
        }
        Target::Webhook(_) | Target::Process(_) => {}
    }
    Ok(About {
        initiated_by: NOBODY.to_owned(),
        tenant_id: envelope.tenant_id.clone(),
        document_id: envelope.document_id().map(str::to_owned),
        event_name: Some(envelope.action.clone()),
        rule_id: Some(subscription.id.clone()),
        rule_name: Some(subscription.name.clone()),
        priority: subscription.priority,
        run_as_role: Some(subscription.run_as_role),
        interaction_name,
        memo,
        ..About::default()
    })
}
