//! What an operator does with a delivery: asks for another attempt at once, or for none any more.

use std::sync::Arc;

use events::delivery::DeliveryRef;
use events::payload;
use events::subscription::{Subscription, Target};
use platform::objects::Objects;
use platform::records::deliveries::{
    Deliveries, DeliveryChange, DeliveryRecord, DeliveryStatus, DeliveryWrite,
};
use platform::records::events::Events;
use platform::records::processes::Processes;
use platform::records::subscriptions::Subscriptions;
use platform::{Clock, Error, ErrorKind, Result, Tenant};
use workflow::Payload;
use workflow::engine::Engine;

use crate::delivery::start;
use crate::webhook_delivery::{MAX_ATTEMPTS, RETRY};

/// As whom runs are told what an operator wants.
const OPERATOR: &str = "operator";

/// What deliveries are asked for with.
#[derive(Clone)]
pub struct Redelivery {
    /// Starts runs and tells them things.
    pub engine: Engine,
    /// The deliveries.
    pub deliveries: Deliveries,
    /// The events.
    pub events: Events,
    /// The subscriptions.
    pub subscriptions: Subscriptions,
    /// The stored processes.
    pub processes: Processes,
    /// Where large bodies are.
    pub objects: Arc<Objects>,
    /// The time.
    pub clock: Clock,
}

impl Redelivery {
    /// Asks for another attempt at once: in the place of the one that a delivery waits for, or by another run where it has ended. 409
    /// where nothing can be delivered any longer.
    pub async fn retry(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let record = self.deliveries.get(tenant, id).await?;
        match record.status.is_final() || record.workflow_run_id.is_none() {
            true => self.begin_again(tenant, record).await,
            false => {
                self.of_run(tenant, record, async |record, run| {
                    self.hurry(tenant, record, run).await
                })
                .await
            }
        }
    }

    /// Ends a delivery. 409 where it has ended.
    pub async fn cancel(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let record = self.deliveries.get(tenant, id).await?;
        self.of_run(tenant, record, async |_, run| {
            self.engine.cancel(tenant, run, None, OPERATOR).await
        })
        .await
    }

    /// Does something with the run that carries out a delivery, which may go on as another one meanwhile. 409 where it has ended.
    async fn of_run(
        &self,
        tenant: &Tenant,
        mut record: DeliveryRecord,
        done: impl AsyncFn(&DeliveryRecord, &str) -> Result<()>,
    ) -> Result<()> {
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
            let refusal = match done(&record, &run).await {
                Err(refusal) if refusal.kind() == ErrorKind::Conflict => refusal,
                other => return other,
            };
            record = self.deliveries.get(tenant, &record.id).await?;
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
        if record.target_type != "webhook" {
            return Err(Error::conflict(format!(
                "The delivery '{}' is under way: the run '{run}' has not ended.",
                record.id
            )));
        }
        self.engine
            .signal(tenant, run, RETRY, &Payload::null(), OPERATOR)
            .await
    }

    async fn begin_again(&self, tenant: &Tenant, record: DeliveryRecord) -> Result<()> {
        if record.attempt_count >= MAX_ATTEMPTS {
            return Err(Error::conflict(format!(
                "The delivery '{}' was tried {MAX_ATTEMPTS} times; it is not tried again.",
                record.id
            )));
        }
        let found = self.subscriptions.find(tenant, &record.subscription_id).await?;
        let revision = found.as_ref().map_or(0, |found| found.revision);
        let subscription = found.map(|found| Subscription::of(&found)).transpose()?;
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
        // A verdict stands: an operator who retries a delivery that it stopped delivers the event in spite of
        // it.
        let evaluation = record.semantic_evaluation.as_ref();
        let has_verdict = evaluation.is_some_and(|evaluation| evaluation.matched.is_some());
        let evaluates = subscription.filter.semantic_condition.is_some() && !has_verdict;
        let event = self.events.find(tenant, &record.event_id).await?;
        let gone = || Error::conflict(format!("The event '{}' is no longer kept.", record.event_id));
        let event = event.ok_or_else(gone)?;
        // Before the delivery is open again: from then on it names its event.
        if !self.events.keep(tenant, &event, self.clock.now()).await? {
            return Err(gone());
        }
        let envelope = payload::whole(&self.objects, &event).await?;
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
            at: self.clock.now(),
            attempts: Vec::new(),
            next_attempt_at: None,
            last_error: None,
            semantic_evaluation: None,
            workflow_id: None,
            // The run that it starts has an id then.
            workflow_run_id: String::new(),
        };
        let mut start = start(
            &self.processes,
            (&event, &envelope),
            &subscription,
            &next,
            DeliveryWrite::Change(change),
        )
        .await?;
        // As of a first delivery: a run that is started does not look for itself.
        if !matches!(subscription.target, Target::Webhook(_)) {
            start.guard = Some(self.subscriptions.unchanged(tenant, &subscription.id, revision));
        }
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
