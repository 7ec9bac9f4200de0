//! Matches one event: writes its record, starts a delivery for each matching subscription, signals the
//! listening runs, and marks the event as matched.

use std::sync::Arc;

use events::delivery::{DeliveryRef, record};
use events::envelope::{Category, Envelope};
use events::matching::{EventToMatch, MAX_LINEAGE, Match, Matches};
use events::payload;
use events::publish::publish_stored;
use events::records::deliveries::{DeliveryRecord, DeliveryStatus, DeliveryWrite};
use events::records::events::EventRecord;
use events::subscription::{StoredSubscription, Target, WorkflowTarget};
use events::system_event::SystemEvent;
use events::target::OnRunning;
use futures::stream::{self, StreamExt as _};
use platform::records::logs::{LogId, LogKind};
use platform::trace::{self, Kind, Span};
use platform::{Error, ErrorKind, Result, Tenant, metrics};
use runs::delivery::{lane_of, shares_run, start, workflow_id_of, workflow_input};
use tracing::{info, warn};
use workflow::engine::{StartRun, StartedRun, link_of};
use workflow::state::About;

use crate::message::EventMessage;
use crate::{Matcher, listening};

/// Deliveries that are started concurrently.
const STARTS_AT_ONCE: usize = 8;

struct Event<'a> {
    tenant: &'a Tenant,
    record: &'a EventRecord,
    envelope: &'a Envelope,
}

/// Matches the event that a message names. Returns an inner error where the event has no record and the
/// message holds no valid event.
pub async fn match_event(
    matcher: &Matcher,
    message: EventMessage<'_>,
) -> Result<std::result::Result<(), String>> {
    let tenant = &message.tenant;
    let record = match matcher.events.find(tenant, &message.event_id).await? {
        Some(record) => record,
        None => match message.envelope() {
            Ok(envelope) => insert_foreign_event(matcher, tenant, envelope).await?,
            Err(reason) => return Ok(Err(reason)),
        },
    };
    if record.matched_at.is_some() {
        return Ok(Ok(()));
    }
    let envelope = payload::whole(&matcher.objects, &record).await?;
    let event = Event {
        tenant,
        record: &record,
        envelope: &envelope,
    };
    let span = Span::start_below(envelope.position().as_ref(), Kind::Consumer, || "match event");
    span.within(match_record(matcher, &event)).await.map(Ok)
}

async fn match_record(matcher: &Matcher, event: &Event<'_>) -> Result<()> {
    let Event {
        tenant,
        record,
        envelope,
    } = *event;
    let matched = match record.lineage.len() > MAX_LINEAGE {
        true => {
            warn!(event_id = record.id, lineage = ?record.lineage, "an event is not matched: too many subscriptions led to it");
            0
        }
        false => deliver(matcher, event).await?,
    };
    let now = matcher.clock.now();
    matcher.events.matched(tenant, record, now).await?;
    let log = LogId::new(tenant.account(), Some(tenant.project()), LogKind::Events);
    matcher.archive_hints.new_record(&log, now).await;
    info!(
        account = tenant.account(),
        project = tenant.project(),
        event_id = record.id,
        action = envelope.action,
        matched,
        "event matched"
    );
    metrics::event_matches(matched);
    if trace::is_on() {
        trace::set("millrace.account", tenant.account());
        trace::set("millrace.project", tenant.project());
        trace::set("millrace.event.id", &record.id);
        trace::set("millrace.event.category", envelope.event_category.as_str());
        trace::set("millrace.event.matches", matched);
    }
    Ok(())
}

/// Writes the record of another service's event.
async fn insert_foreign_event(
    matcher: &Matcher,
    tenant: &Tenant,
    mut envelope: Envelope,
) -> Result<EventRecord> {
    let details_key = payload::keep(&matcher.objects, tenant, &mut envelope).await?;
    let record = EventRecord {
        id: envelope.event_id.clone(),
        envelope: envelope.to_json()?,
        details_key,
        received_at: matcher.clock.now(),
        private_to: None,
        lineage: Vec::new(),
        addressee: None,
        matched_at: None,
    };
    matcher.events.insert(tenant, &record).await?;
    metrics::event_accepted(envelope.event_category.as_str());
    // Two messages of one event may be handled at once; both use the record that was written first.
    let written = matcher.events.find(tenant, &record.id).await?;
    written.ok_or_else(|| Error::unavailable("an event that was written is not there"))
}

/// Starts a delivery for each matching subscription, and signals the listening runs. Returns the number of
/// matching subscriptions. A delivery that cannot be started does not stop the others.
async fn deliver(matcher: &Matcher, event: &Event<'_>) -> Result<usize> {
    let text = event.envelope.to_json()?;
    let event_to_match = EventToMatch {
        envelope: event.envelope,
        text: &text,
        lineage: &event.record.lineage,
        private_to: event.record.private_to.as_deref(),
    };
    let Matches { matches, listeners } = match &event.record.addressee {
        Some(subscription) => addressed(matcher, event.tenant, subscription).await?,
        None => matcher.sets.matches(event.tenant, &event_to_match).await?,
    };
    let mut by_priority: Vec<&Match> = matches.iter().collect();
    by_priority.sort_by_key(|matched| matched.subscription.priority);
    let mut starts = Vec::new();
    for matched in by_priority {
        starts.push(begin(matcher, event, matched));
    }
    let started: Vec<Result<()>> = stream::iter(starts)
        .buffer_unordered(STARTS_AT_ONCE)
        .collect()
        .await;
    let signals = match listeners {
        0 => Ok(()),
        _ => {
            let private_to = event.record.private_to.as_deref();
            listening::signal_listeners(matcher, event.tenant, event.envelope, private_to).await
        }
    };
    started.into_iter().chain([signals]).collect::<Result<()>>()?;
    Ok(matches.len())
}

/// Returns the one subscription that a test event is for, whatever its filter says.
async fn addressed(matcher: &Matcher, tenant: &Tenant, id: &str) -> Result<Matches> {
    let record = matcher.subscriptions.find(tenant, id).await?;
    let matched = record.map(|record| {
        let subscription = StoredSubscription::from_record(&record)?;
        Ok::<_, Error>(Match {
            unanswered: (!subscription.enabled).then(|| subscription.why_disabled()),
            subscription: Arc::new(subscription),
            revision: record.revision,
        })
    });
    Ok(Matches {
        matches: matched.transpose()?.into_iter().collect(),
        listeners: 0,
    })
}

/// Starts a delivery, unless it was started before.
async fn begin(matcher: &Matcher, event: &Event<'_>, matched: &Match) -> Result<()> {
    let subscription = matched.subscription.as_ref();
    let status = match subscription.filter.semantic_condition {
        Some(_) => DeliveryStatus::Evaluating,
        None => DeliveryStatus::Pending,
    };
    let delivery = record(
        event.record,
        event.envelope,
        subscription,
        status,
        None,
        matcher.clock.now(),
    );
    if let Some(why) = &matched.unanswered {
        return fail(matcher, event, delivery, why.clone()).await;
    }
    let workflow_id = match workflow_id_of(event.record, event.envelope, subscription) {
        Ok(id) => id,
        Err(refusal) => return fail(matcher, event, delivery, refusal.message().to_owned()).await,
    };
    // A start checks its own workflow type. An evaluation starts as another type and continues as this one,
    // so check it here.
    if let Some(endpoint) = subscription.target.endpoint()
        && status == DeliveryStatus::Evaluating
        && matcher.engine.registry().find_workflow(endpoint).is_none()
    {
        let why = format!("There is no workflow type '{endpoint}' in this installation.");
        return fail(matcher, event, delivery, why).await;
    }
    let delivery = DeliveryRecord {
        workflow_id: Some(workflow_id),
        ..delivery
    };
    let first = DeliveryRef {
        id: delivery.id.clone(),
        subscription_id: subscription.id.clone(),
        attempt: 1,
    };
    if let Some(place) = lane_of(event.record, event.envelope, subscription)? {
        matcher.lanes.enter(event.tenant, &place, &delivery.id).await?;
    }
    let write = DeliveryWrite::Insert(Box::new(delivery.clone()));
    let about = (event.record, event.envelope);
    let start = start(&matcher.processes, about, subscription, &first, write);
    let started = match start.await {
        Ok(mut start) => {
            // Each attempt of a webhook reads the subscription again. Other targets do not, so their start is
            // refused if the subscription changed.
            if !matches!(subscription.target, Target::Webhook(_)) {
                let guard = matcher
                    .subscriptions
                    .unchanged(event.tenant, &subscription.id, matched.revision);
                start.guard = Some(guard);
            } else if status == DeliveryStatus::Pending
                && matcher
                    .engine
                    .registry()
                    .find_workflow(&start.workflow_type)
                    .is_some()
                && !write_first(matcher, event.tenant, &delivery, &mut start).await?
            {
                return Ok(());
            }
            start_or_signal(matcher, event, (subscription, &first), &start).await
        }
        Err(refusal) => Err(refusal),
    };
    match started {
        Ok(started) if !started.is_new && shares_run(&subscription.target) => {
            join(matcher, event, delivery, (subscription, started.run_id)).await
        }
        Ok(_) => Ok(()),
        // An unknown type or a too large input: a retry cannot help.
        Err(refusal) if !refusal.is_transient() => {
            let why = refusal.message().to_owned();
            fail(matcher, event, delivery, why).await
        }
        // The delivery may have failed before its run could start.
        Err(cause) => match matcher.deliveries.find(event.tenant, &delivery.id).await? {
            Some(known) if known.status.is_final() => Ok(()),
            _ => Err(cause),
        },
    }
}

/// Starts the run of a delivery. Where the target says so, an open run with its workflow id gets the event as
/// a signal instead: once for each match of the event, until its delivery is written.
async fn start_or_signal(
    matcher: &Matcher,
    event: &Event<'_>,
    (subscription, delivery): (&StoredSubscription, &DeliveryRef),
    start: &StartRun,
) -> Result<StartedRun> {
    loop {
        let started = matcher.engine.start(event.tenant, start).await?;
        let signals = subscription.target.on_running() == OnRunning::Signal;
        let Target::Workflow(workflow) = &subscription.target else {
            return Ok(started);
        };
        if started.is_new
            || !signals
            || matcher
                .deliveries
                .find(event.tenant, &delivery.id)
                .await?
                .is_some()
        {
            return Ok(started);
        }
        let run = matcher.engine.get(event.tenant, &started.run_id).await?;
        if run.workflow_type != workflow.endpoint {
            return Ok(started);
        }
        if !may_signal(subscription, &run.about) {
            return Err(Error::forbidden(format!(
                "The run '{}' of the workflow id '{}' is private or has permissions that the subscription's role lacks, so it gets \
                 no signal.",
                run.run_id, run.workflow_id
            )));
        }
        match signal(matcher, event, workflow, delivery, &started.run_id).await {
            // It has ended meanwhile: start another one.
            Err(refusal)
                if refusal.kind() == ErrorKind::Conflict
                    && matcher
                        .engine
                        .get(event.tenant, &started.run_id)
                        .await?
                        .is_closed() => {}
            signalled => return signalled.map(|()| started),
        }
    }
}

/// Whether a run may get a subscription's signals: its own runs, and others that have no more permissions.
fn may_signal(subscription: &StoredSubscription, run: &About) -> bool {
    let role = subscription.run_as_role.role();
    let is_covered = run.run_as_role.is_none_or(|of_run| {
        let of_run = of_run.role().permissions();
        of_run
            .iter()
            .all(|permission| role.permissions().contains(permission))
    });
    run.private_to().is_none() && (run.rule_id.as_ref() == Some(&subscription.id) || is_covered)
}

async fn signal(
    matcher: &Matcher,
    event: &Event<'_>,
    workflow: &WorkflowTarget,
    delivery: &DeliveryRef,
    run_id: &str,
) -> Result<()> {
    let data = workflow_input(workflow, event.envelope, delivery)?;
    let data = data.map_err(|failure| Error::new(ErrorKind::PayloadTooLarge, failure.message))?;
    let name = workflow.signal_name.as_deref().unwrap_or_default();
    let sender = format!("subscription:{}", delivery.subscription_id);
    matcher
        .engine
        .signal(event.tenant, run_id, name, &data, &sender)
        .await
}

/// Writes a delivery before the run that carries it out, because two writes cost half of a transaction. The
/// event is not marked as matched before both are written, so a repeated match writes a missing run. Returns
/// false if the delivery belongs to another run or has ended.
async fn write_first(
    matcher: &Matcher,
    tenant: &Tenant,
    delivery: &DeliveryRecord,
    start: &mut StartRun,
) -> Result<bool> {
    let mut delivery = DeliveryRecord {
        workflow_run_id: start.run_id.clone(),
        ..delivery.clone()
    };
    if !matcher.deliveries.insert(tenant, &delivery).await? {
        let run_id = delivery.workflow_run_id;
        delivery = matcher.deliveries.get(tenant, &delivery.id).await?;
        if delivery.workflow_run_id != run_id || delivery.status.is_final() {
            return Ok(false);
        }
    }
    start.written_delivery = Some(link_of(&DeliveryWrite::Insert(Box::new(delivery))));
    start.delivery = None;
    Ok(true)
}

/// Writes a delivery whose workflow id already has a run: that of an earlier event with this id, or that of
/// this delivery, which then stays unchanged.
async fn join(
    matcher: &Matcher,
    event: &Event<'_>,
    delivery: DeliveryRecord,
    (subscription, run_id): (&StoredSubscription, String),
) -> Result<()> {
    let run = matcher.engine.get(event.tenant, &run_id).await?;
    let delivery = DeliveryRecord {
        private_to: run.about.private_to().map(str::to_owned),
        ..delivery
    };
    if subscription.target.endpoint() != Some(run.workflow_type.as_str()) {
        let why = format!(
            "The workflow id '{}' stands for the run '{run_id}' of the type '{}'; give each workflow type workflow ids of its own.",
            run.workflow_id, run.workflow_type
        );
        return fail(matcher, event, delivery, why).await;
    }
    let until = matcher.deliveries.retention().delivery_until(matcher.clock.now());
    matcher.engine.keep_until(event.tenant, &run_id, until).await?;
    let joined = DeliveryRecord {
        status: DeliveryStatus::Succeeded,
        workflow_run_id: Some(run_id),
        ..delivery
    };
    matcher.deliveries.insert(event.tenant, &joined).await.map(drop)
}

/// Writes a delivery that fails at once, with the event about it.
async fn fail(matcher: &Matcher, event: &Event<'_>, delivery: DeliveryRecord, why: String) -> Result<()> {
    let failed = DeliveryRecord {
        status: DeliveryStatus::Failed,
        last_error: Some(why),
        workflow_id: None,
        ..delivery
    };
    let mut lineage = event.record.lineage.clone();
    lineage.push(failed.subscription_id.clone());
    let now = matcher.clock.now();
    let report = SystemEvent::delivery_failed(&failed, lineage)?;
    let report = report
        .map(|report| report.record(event.tenant, now))
        .transpose()?;
    let Some(report) = report else {
        return matcher.deliveries.insert(event.tenant, &failed).await.map(drop);
    };
    matcher.events.prepare(event.tenant, now).await?;
    let report = matcher.events.insertion(event.tenant, report).await?;
    if matcher
        .deliveries
        .insert_with(event.tenant, &failed, &report)
        .await?
    {
        metrics::event_accepted(Category::System.as_str());
        publish_stored(matcher.bus.as_ref(), &report.event).await;
    }
    Ok(())
}
