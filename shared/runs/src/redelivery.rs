//! Retries or cancels a delivery for an operator.

use std::sync::Arc;

use events::delivery::DeliveryRef;
use events::payload;
use events::records::deliveries::{
    Deliveries, DeliveryChange, DeliveryRecord, DeliveryStatus, DeliveryWrite,
};
use events::records::events::Events;
use events::records::subscriptions::Subscriptions;
use events::subscription::{StoredSubscription, Target};
use events::target::WEBHOOK;
use platform::objects::Objects;
use platform::{Clock, Error, ErrorKind, Result, Tenant};
use process::records::processes::Processes;
use workflow::Payload;
use workflow::engine::Engine;

use crate::delivery::start;
use crate::webhook_delivery::{MAX_ATTEMPTS, RETRY};

/// Sender of the operator's signals and cancellations.
const OPERATOR: &str = "operator";

/// Services that redeliveries use.
#[derive(Clone)]
pub struct Redelivery {
    pub engine: Engine,
    pub deliveries: Deliveries,
    pub events: Events,
    pub subscriptions: Subscriptions,
    pub processes: Processes,
    /// Storage of large event bodies.
    pub objects: Arc<Objects>,
    pub clock: Clock,
}

impl Redelivery {
    /// Starts another attempt at once: brings forward the attempt that a delivery waits for, or starts
    /// another run where the delivery has ended. Fails with 409 where delivery is no longer possible.
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

    /// Cancels a delivery. Fails with 409 where it has ended.
    pub async fn cancel(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let record = self.deliveries.get(tenant, id).await?;
        self.of_run(tenant, record, async |_, run| {
            self.engine.cancel(tenant, run, None, OPERATOR).await
        })
        .await
    }

    /// Applies `done` to the run that carries out a delivery; repeats it where the run continued as another
    /// one meanwhile. Fails with 409 where the delivery has ended.
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
        if record.target_type != WEBHOOK {
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
        let subscription = found
            .map(|found| StoredSubscription::from_record(&found))
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
        let event = self.events.find(tenant, &record.event_id).await?;
        let gone = || Error::conflict(format!("The event '{}' is no longer kept.", record.event_id));
        let event = event.ok_or_else(gone)?;
        // This comes before the delivery is reopened, because from then on the delivery refers to its event.
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
            // The started run sets its id.
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
        // As for a first delivery: a started run does not check the subscription itself.
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
