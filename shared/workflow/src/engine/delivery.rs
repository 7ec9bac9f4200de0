//! Derives the change of a delivery from a write of its run. Both are written together, so that they always
//! agree.

use events::records::deliveries::{DeliveryChange, DeliveryStatus, DeliveryWrite};
use events::records::events::EventRecord;
use events::system_event::SystemEvent;
use platform::{Result, Tenant};

use super::Engine;
use crate::draft::Draft;
use crate::event::EventKind;
use crate::state::DeliveryLink;
use crate::status::RunStatus;
use crate::store::Commit;

/// Returns the link to the delivery that a new run keeps.
pub fn link_of(write: &DeliveryWrite) -> DeliveryLink {
    let (id, created_at, status) = match write {
        DeliveryWrite::Insert(record) => (&record.id, record.created_at, record.status),
        DeliveryWrite::Change(change) => (&change.id, change.created_at, change.status),
    };
    DeliveryLink {
        id: id.clone(),
        created_at,
        status,
    }
}

/// Returns the change of the delivery for a write of a run, and of the run that continues it if there is one.
/// `requested` is the change that the starter of a run requests.
pub(super) fn delivery_of(runs: &mut [Draft], requested: Option<DeliveryWrite>) -> Option<DeliveryWrite> {
    let (draft, successors) = runs.split_first_mut()?;
    let next = successors.first_mut().map(|next| &mut next.state);
    if let Some(mut write) = requested {
        match &mut write {
            DeliveryWrite::Insert(record) => {
                record.workflow_run_id = Some(draft.state.run_id.clone());
                record.private_to = draft.state.about.private_to().map(str::to_owned);
            }
            DeliveryWrite::Change(change) => {
                change.workflow_id = Some(draft.state.workflow_id.clone());
                change.workflow_run_id.clone_from(&draft.state.run_id);
            }
        }
        return Some(write);
    }
    // None: the delivery was written before the run.
    draft.expected?;
    let link = draft.state.delivery.as_ref()?;
    let reports = std::mem::take(&mut draft.reports);
    let next_attempt_at = reports.last().and_then(|report| report.next_attempt_at);
    let status = status(draft, next_attempt_at.is_some());
    if status == link.status && reports.is_empty() && next.is_none() {
        return None;
    }
    let last_error = reports.last().and_then(|report| report.last_error.clone());
    let semantic_evaluation = reports
        .iter()
        .rev()
        .find_map(|report| report.semantic_evaluation.clone());
    let change = DeliveryChange {
        id: link.id.clone(),
        created_at: link.created_at,
        status,
        at: draft.now,
        attempts: reports.into_iter().filter_map(|report| report.attempt).collect(),
        next_attempt_at,
        last_error: last_error.or_else(|| why_ended(draft)),
        semantic_evaluation: semantic_evaluation.map(Box::new),
        workflow_id: None,
        workflow_run_id: next
            .as_ref()
            .map_or(&draft.state.run_id, |next| &next.run_id)
            .clone(),
    };
    for state in [Some(&mut draft.state), next].into_iter().flatten() {
        if let Some(link) = &mut state.delivery {
            link.status = status;
        }
    }
    Some(DeliveryWrite::Change(change))
}

impl Engine {
    /// Returns the event about the delivery that a commit lets fail, which is written with the commit; None
    /// where it lets none fail.
    pub(super) async fn failure_event(
        &self,
        tenant: &Tenant,
        commit: &Commit,
    ) -> Result<Option<EventRecord>> {
        let (Some(draft), Some(DeliveryWrite::Change(change))) = (commit.runs.first(), &commit.delivery)
        else {
            return Ok(None);
        };
        if change.status != DeliveryStatus::Failed {
            return Ok(None);
        }
        let Some(before) = self.services.store.find_delivery(tenant, &change.id).await? else {
            return Ok(None);
        };
        let lineage = draft.state.lineage.clone();
        let event = SystemEvent::delivery_failed(&before.after(change), lineage)?;
        event
            .map(|event| event.record_as(tenant, self.new_id(), draft.now))
            .transpose()
    }
}

fn status(draft: &Draft, waits: bool) -> DeliveryStatus {
    let before = draft.state.delivery.as_ref().map(|link| link.status);
    let is_under_way = draft
        .state
        .activities
        .values()
        .any(|activity| activity.started_at.is_some());
    match draft.state.status {
        RunStatus::Completed => DeliveryStatus::Succeeded,
        RunStatus::Failed | RunStatus::TimedOut => DeliveryStatus::Failed,
        RunStatus::Canceled | RunStatus::Terminated => DeliveryStatus::Cancelled,
        RunStatus::ContinuedAsNew => DeliveryStatus::Running,
        RunStatus::Running if before == Some(DeliveryStatus::Evaluating) => DeliveryStatus::Evaluating,
        RunStatus::Running if waits => DeliveryStatus::Retrying,
        RunStatus::Running if is_under_way => DeliveryStatus::Running,
        RunStatus::Running => match before {
            Some(before @ DeliveryStatus::Retrying) => before,
            _ => DeliveryStatus::Running,
        },
    }
}

/// Returns the reason why a run did not complete.
fn why_ended(draft: &Draft) -> Option<String> {
    match &draft.new_events().last()?.kind {
        EventKind::WorkflowExecutionFailed { failure } => Some(failure.message.clone()),
        EventKind::WorkflowExecutionCanceled { .. } => Some(match cancel_reason(draft) {
            Some(reason) => format!("It was cancelled: {reason}"),
            None => "It was cancelled.".to_owned(),
        }),
        EventKind::WorkflowExecutionTerminated { .. } => Some("Its run was terminated.".to_owned()),
        EventKind::WorkflowExecutionTimedOut {} => Some("Its run took longer than it may.".to_owned()),
        _ => None,
    }
}

/// Returns the reason of the request to cancel, while the state has that event.
fn cancel_reason(draft: &Draft) -> Option<&str> {
    draft.state.tail.iter().rev().find_map(|event| match &event.kind {
        EventKind::WorkflowExecutionCancelRequested { reason, .. } => reason.as_deref(),
        _ => None,
    })
}
