//! One event: its record, the subscriptions that match, a delivery for each, and the note that it was matched.

use events::delivery::{DeliveryRef, delivery_id, record, workflow_id};
use events::envelope::Envelope;
use events::filter::{EvaluatorKind, OnError, SemanticCondition, SemanticMode};
use events::matching::MAX_DEPTH;
use events::payload;
use events::subscription::Subscription;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::records::deliveries::{DeliveryRecord, DeliveryStatus, DeliveryWrite, SemanticEvaluation};
use platform::records::events::EventRecord;
use platform::{Error, ErrorKind, Result, Tenant};
use runs::delivery::start;
use tracing::{info, warn};

use crate::Matcher;

/// Deliveries that are started at a time.
const STARTS_AT_ONCE: usize = 8;

/// An event that is being matched.
struct Event<'a> {
    tenant: &'a Tenant,
    record: &'a EventRecord,
    envelope: &'a Envelope,
}

/// Matches an event that a message tells of.
pub async fn match_event(matcher: &Matcher, told: Envelope) -> Result<()> {
    let tenant = told.tenant()?;
    let record = known(matcher, &tenant, told).await?;
    if record.matched_at.is_some() {
        return Ok(());
    }
    let envelope = payload::whole(&matcher.objects, &record).await?;
    let event = Event {
        tenant: &tenant,
        record: &record,
        envelope: &envelope,
    };
    let matched = match record.depth >= MAX_DEPTH {
        true => {
            warn!(event_id = record.id, depth = record.depth, "an event is not matched: subscriptions start each other in a circle");
            0
        }
        false => deliver(matcher, &event).await?,
    };
    matcher
        .events
        .matched(&tenant, &record.id, matcher.clock.now())
        .await?;
    info!(
        account = tenant.account(),
        project = tenant.project(),
        event_id = record.id,
        action = envelope.action,
        matched,
        "event matched"
    );
    Ok(())
}

/// The record of an event; one of another service is written now.
async fn known(matcher: &Matcher, tenant: &Tenant, mut told: Envelope) -> Result<EventRecord> {
    let id = told.event_id.clone();
    if let Some(record) = matcher.events.find(tenant, &id).await? {
        return Ok(record);
    }
    let details_key = payload::keep(&matcher.objects, tenant, &mut told).await?;
    let record = EventRecord {
        id,
        envelope: told.to_json()?,
        details_key,
        received_at: matcher.clock.now(),
        depth: 0,
        matched_at: None,
    };
    matcher.events.insert(tenant, &record).await?;
    // Two messages of one event may come at once; what is written is what both go by.
    let written = matcher.events.find(tenant, &record.id).await?;
    written.ok_or_else(|| Error::unavailable("an event that was written is not there"))
}

/// Starts a delivery for each subscription that matches; how many.
async fn deliver(matcher: &Matcher, event: &Event<'_>) -> Result<usize> {
    let set = matcher.sets.of(event.tenant).await?;
    let text = event.envelope.to_json()?;
    let subscriptions = set.matches(event.envelope, &text)?;
    let starts = subscriptions.iter().map(|subscription| begin(matcher, event, subscription));
    let starts: Vec<_> = starts.collect();
    stream::iter(starts)
        .buffer_unordered(STARTS_AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(subscriptions.len())
}

/// Starts a delivery, unless it was started before.
async fn begin(matcher: &Matcher, event: &Event<'_>, subscription: &Subscription) -> Result<()> {
    let now = matcher.clock.now();
    let semantic = subscription.filter.semantic_condition.as_ref().map(unevaluated);
    let stopped = match (&subscription.filter.semantic_condition, &semantic) {
        (Some(condition), Some(evaluation)) if stops(condition) => evaluation.error.clone(),
        _ => None,
    };
    let status = match stopped {
        Some(_) => DeliveryStatus::Failed,
        None => DeliveryStatus::Pending,
    };
    let mut delivery = record(event.record, event.envelope, subscription, status, semantic, now);
    if stopped.is_some() {
        delivery.last_error = stopped;
        return matcher.deliveries.insert(event.tenant, &delivery).await;
    }
    delivery.workflow_id = Some(workflow_id(event.record, &subscription.id));
    let first = DeliveryRef {
        id: delivery_id(event.record, &subscription.id),
        subscription_id: subscription.id.clone(),
        attempt: 1,
    };
    let write = DeliveryWrite::Insert(Box::new(delivery.clone()));
    let start = start(event.record, event.envelope, subscription, &first, write)?;
    match matcher.engine.start(event.tenant, &start).await {
        Ok(_) => Ok(()),
        // An unknown type, an input that is too large: nothing that comes later changes that.
        Err(refusal) if !refusal.is_transient() => fail(matcher, event, delivery, &refusal).await,
        // The delivery may be one that failed before its run could begin.
        Err(cause) if cause.kind() == ErrorKind::Unavailable => {
            match matcher.deliveries.find(event.tenant, &delivery.id).await? {
                Some(known) if known.status.is_final() => Ok(()),
                _ => Err(cause),
            }
        }
        Err(cause) => Err(cause),
    }
}

async fn fail(
    matcher: &Matcher,
    event: &Event<'_>,
    delivery: DeliveryRecord,
    refusal: &Error,
) -> Result<()> {
    let failed = DeliveryRecord {
        status: DeliveryStatus::Failed,
        last_error: Some(refusal.message().to_owned()),
        workflow_id: None,
        ..delivery
    };
    matcher.deliveries.insert(event.tenant, &failed).await
}

/// What is known of a semantic condition where no model is configured: nothing.
fn unevaluated(condition: &SemanticCondition) -> SemanticEvaluation {
    SemanticEvaluation {
        status: "error".to_owned(),
        mode: match condition.mode {
            SemanticMode::Enforce => "enforce",
            SemanticMode::Shadow => "shadow",
        }
        .to_owned(),
        evaluator_type: match condition.evaluator.kind {
            EvaluatorKind::Interaction => "interaction",
            EvaluatorKind::Agent => "agent",
        }
        .to_owned(),
        matched: None,
        rationale: None,
        error: Some("No model is configured that could evaluate the semantic condition.".to_owned()),
    }
}

/// Whether a condition without a verdict stops the delivery.
fn stops(condition: &SemanticCondition) -> bool {
    condition.mode == SemanticMode::Enforce && condition.on_error == OnError::FailClosed
}
