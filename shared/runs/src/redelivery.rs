//! Retries or cancels a delivery for a caller of the API or an operator.

use std::time::Duration;

use events::delivery::DeliveryRef;
use events::payload;
use events::records::deliveries::{
    Deliveries, DeliveryChange, DeliveryRecord, DeliveryStatus, DeliveryWrite,
};
use events::records::events::Events;
use events::records::lanes::Lanes;
use events::records::subscriptions::Subscriptions;
use events::retention::Retention;
use events::subscription::{StoredSubscription, Target};
use events::target::WEBHOOK;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::records::Table;
use platform::{Clock, Error, ErrorKind, Result, Tenant};
use process::records::processes::Processes;
use workflow::Payload;
use workflow::engine::Engine;

use crate::delivery::{lane_of, start};
use crate::evaluation::NOT_MATCHED;
use crate::webhook_delivery::{MAX_ATTEMPTS, RETRY};

/// Statuses of the deliveries that a redrive takes.
pub const REDRIVEN: [DeliveryStatus; 2] = [DeliveryStatus::Failed, DeliveryStatus::Cancelled];
/// How often a run is looked for that is not written yet, and the pause before each further look.
const MAX_LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// Caller that stands for the operator command.
pub const OPERATOR: &str = "operator";

/// Services that redeliveries use besides the engine.
#[derive(Clone)]
pub struct RedeliveryParts {
    pub deliveries: Deliveries,
    pub events: Events,
    pub subscriptions: Subscriptions,
    pub processes: Processes,
    pub lanes: Lanes,
    /// Storage of large event bodies.
    pub objects: Objects,
    pub clock: Clock,
}

impl RedeliveryParts {
    /// `events` and `records` are the tables of events and records.
    pub fn new(
        (events, records): (Table, Table),
        objects: Objects,
        clock: Clock,
        retention: Retention,
    ) -> Self {
        Self {
            deliveries: Deliveries::new(events.clone()).retaining(retention),
            lanes: Lanes::new(events.clone()),
            events: Events::new(events).retaining(retention),
            subscriptions: Subscriptions::new(records.clone()),
            processes: Processes::new(records),
            objects,
            clock,
        }
    }

    pub fn from_deployment(deployment: &Deployment) -> std::result::Result<Self, ConfigError> {
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let records = deployment.table(variables::RECORDS_TABLE)?;
        Ok(Self::new(
            (events, records),
            deployment.bucket(variables::DATA_BUCKET)?,
            deployment.clock(),
            Retention::from_environment(deployment.environment())?,
        ))
    }
}

/// What to do with the run of an open delivery.
#[derive(Clone, Copy)]
enum Act<'a> {
    Retry,
    Cancel(Option<&'a str>),
}

/// Retries and cancels deliveries for a caller, who may see them.
#[derive(Clone)]
pub struct Redelivery {
    pub engine: Engine,
    pub parts: RedeliveryParts,
    /// Reference of the caller, such as `user:<id>`, for the histories of runs.
    pub caller: String,
}

impl Redelivery {
    /// Starts another attempt at once: brings forward the attempt that a delivery waits for, or starts
    /// another run where the delivery has ended. Fails with 409 where delivery is no longer possible.
    pub async fn retry(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let record = self.parts.deliveries.get(tenant, id).await?;
        match record.status.is_final() || record.workflow_run_id.is_none() {
            true => self.begin_again(tenant, record, None).await,
            false => self.of_run(tenant, record, Act::Retry).await,
        }
    }

    /// Starts another attempt of a failed or cancelled delivery, once for each `run_id`: the run of that
    /// attempt has it. Fails with 409 where the delivery is not redriven.
    pub async fn redrive(&self, tenant: &Tenant, id: &str, run_id: &str) -> Result<()> {
        match self.engine.get(tenant, run_id).await {
            Ok(_) => return Ok(()),
            Err(missing) if missing.kind() == ErrorKind::NotFound => {}
            Err(cause) => return Err(cause),
        }
        let record = self.parts.deliveries.get(tenant, id).await?;
        if !REDRIVEN.contains(&record.status) {
            return Err(Error::conflict(format!(
                "The delivery '{id}' is {} by now; only a failed or a cancelled one is redriven.",
                record.status.as_str()
            )));
        }
        if record.last_error.as_deref() == Some(NOT_MATCHED) {
            return Err(Error::conflict(format!(
                "The event of the delivery '{id}' does not meet the semantic condition; a retry of this delivery alone delivers it \
                 in spite of that."
            )));
        }
        self.begin_again(tenant, record, Some(run_id.to_owned())).await
    }

    /// Requests that a delivery ends as cancelled. Fails with 409 where it has ended.
    pub async fn cancel(&self, tenant: &Tenant, id: &str, reason: Option<&str>) -> Result<()> {
        let record = self.parts.deliveries.get(tenant, id).await?;
        self.of_run(tenant, record, Act::Cancel(reason)).await
    }

    /// Acts on the run that carries out a delivery; repeats it where the run continued as another
    /// one meanwhile. Fails with 409 where the delivery has ended.
    async fn of_run(&self, tenant: &Tenant, mut record: DeliveryRecord, act: Act<'_>) -> Result<()> {
        let mut looks = 0;
        loop {
            let run = match &record.workflow_run_id {
                Some(run) if !record.status.is_final() => run.clone(),
                _ => {
                    return Err(Error::conflict(format!(
                        "The delivery '{}' has ended; it is {}.",
                        record.id,
                        record.status.as_str()
                    )));
                }
            };
            let outcome = match act {
                Act::Retry => self.hurry(tenant, &record, &run).await,
                Act::Cancel(reason) => {
                    self.engine
                        .cancel(tenant, &run, reason, self.caller.as_str())
                        .await
                }
            };
            let refusal = match outcome {
                Err(refusal) if refusal.kind() == ErrorKind::Conflict => refusal,
                // The delivery is written before its run.
                Err(missing) if missing.kind() == ErrorKind::NotFound => {
                    looks += 1;
                    if looks >= MAX_LOOKS {
                        return Err(Error::unavailable("the run of a delivery is not written yet"));
                    }
                    self.parts.clock.pause(LOOK_PAUSE).await;
                    record = self.parts.deliveries.get(tenant, &record.id).await?;
                    continue;
                }
                other => return other,
            };
            record = self.parts.deliveries.get(tenant, &record.id).await?;
            if record.workflow_run_id.as_ref() == Some(&run) {
                return Err(refusal);
            }
        }
    }

    async fn hurry(&self, tenant: &Tenant, record: &DeliveryRecord, run: &str) -> Result<()> {
        if record.status == DeliveryStatus::Evaluating {
            return Err(Error::conflict(format!(
                "The semantic condition of the delivery '{}' is being evaluated.",
                record.id
            )));
        }
        if record.target_type != WEBHOOK {
            return Err(Error::conflict(format!(
                "The delivery '{}' is under way: the run '{run}' has not ended.",
                record.id
            )));
        }
        self.engine
            .signal(tenant, run, RETRY, &Payload::null(), &self.caller)
            .await
    }

    async fn begin_again(
        &self,
        tenant: &Tenant,
        record: DeliveryRecord,
        run_id: Option<String>,
    ) -> Result<()> {
        let parts = &self.parts;
        if record.attempt_count >= MAX_ATTEMPTS {
            return Err(Error::conflict(format!(
                "The delivery '{}' was tried {MAX_ATTEMPTS} times; it is not tried again.",
                record.id
            )));
        }
        let current = parts.subscriptions.find(tenant, &record.subscription_id).await?;
        let revision = current.as_ref().map_or(0, |record| record.revision);
        let subscription = current
            .map(|record| StoredSubscription::from_record(&record))
            .transpose()?;
        let Some(subscription) = subscription else {
            return Err(Error::conflict(format!(
                "The subscription '{}' is deleted, so nothing is delivered to it.",
                record.subscription_id
            )));
        };
        if !subscription.enabled {
            return Err(Error::conflict(format!(
                "Nothing is delivered to the subscription '{}'. {} Enable it first, then retry the delivery.",
                subscription.id,
                subscription.why_disabled()
            )));
        }
        // A verdict is not evaluated again: a retry of a delivery that the verdict stopped delivers the event
        // in spite of the verdict.
        let evaluation = record.semantic_evaluation.as_ref();
        let has_verdict = evaluation.is_some_and(|evaluation| evaluation.matched.is_some());
        let evaluates = subscription.filter.semantic_condition.is_some() && !has_verdict;
        let event = parts.events.find(tenant, &record.event_id).await?;
        let gone = || Error::conflict(format!("The event '{}' is no longer kept.", record.event_id));
        let event = event.ok_or_else(gone)?;
        // This comes before the delivery is reopened, because from then on the delivery refers to its event.
        if !parts.events.keep(tenant, &event, parts.clock.now()).await? {
            return Err(gone());
        }
        let envelope = payload::whole(&parts.objects, &event).await?;
        if let Some(place) = lane_of(&event, &envelope, &subscription)? {
            parts.lanes.enter(tenant, &place, &record.id).await?;
        }
        let next = DeliveryRef {
            id: record.id.clone(),
            subscription_id: record.subscription_id.clone(),
            attempt: record.attempt_count + 1,
        };
        let change = DeliveryChange {
            id: record.id.clone(),
            created_at: record.created_at,
            status: match evaluates {
                true => DeliveryStatus::Evaluating,
                false => DeliveryStatus::Pending,
            },
            at: parts.clock.now(),
            attempts: Vec::new(),
            next_attempt_at: None,
            last_error: None,
            semantic_evaluation: None,
            workflow_id: None,
            // The started run sets its id.
            workflow_run_id: String::new(),
        };
        let mut start = start(
            &parts.processes,
            (&event, &envelope),
            &subscription,
            &next,
            DeliveryWrite::Change(change),
        )
        .await?;
        // As for a first delivery: a started run does not check the subscription itself.
        if !matches!(subscription.target, Target::Webhook(_)) {
            start.guard = Some(parts.subscriptions.unchanged(tenant, &subscription.id, revision));
        }
        start.run_id = run_id;
        let started = self.engine.start(tenant, &start).await?;
        if started.is_new {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "The run '{}' of the workflow id '{}' has not ended; retry the delivery '{}' after its end.",
            started.run_id, start.workflow_id, record.id
        )))
    }
}
