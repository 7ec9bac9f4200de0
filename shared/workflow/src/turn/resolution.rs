//! Applies the events of a history: matches its commands with those of the code, and ends operations of the
//! code by the events from outside.

use super::core::{Command, Core, Outcome, ROOT};
use super::matching::{describe, is_ending, name_beginning, same};
use crate::event::{ChildOutcome, Event, EventKind, TimeoutKind};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::turn_failure::TurnFailure;

impl Core {
    /// Matches a command of the history with the first unmatched command of the code.
    pub(super) fn matched(&mut self, event: &Event) -> Result<(), TurnFailure> {
        let Some(Command {
            kind: mut asked,
            operation,
            ..
        }) = self.commands.pop_front()
        else {
            return Err(TurnFailure::not_deterministic(format!(
                "The history has {} at event {}; the code asks for nothing there.",
                describe(&event.kind),
                event.id
            )));
        };
        if is_ending(&asked)
            && let Some(operation) = operation.and_then(|index| self.operations.get(index))
        {
            name_beginning(&mut asked, operation.event);
        }
        if !same(&asked, &event.kind) {
            return Err(TurnFailure::not_deterministic(format!(
                "The history has {} at event {}; the code asks for {} there.",
                describe(&event.kind),
                event.id,
                describe(&asked)
            )));
        }
        if let Some(operation) = operation.filter(|_| !is_ending(&asked)) {
            self.begun(event.id, operation);
        }
        Ok(())
    }

    /// Applies an event from outside.
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.kind {
            EventKind::WorkflowExecutionSignaled { name, input, .. } => {
                self.signals += 1;
                let channel = self.channels.entry(name.clone()).or_default();
                channel.unread.push_back((self.signals, input.clone()));
                for waker in std::mem::take(&mut channel.wakers) {
                    waker.wake();
                }
            }
            EventKind::WorkflowExecutionCancelRequested { .. } => self.cancel(ROOT),
            EventKind::ActivityTaskCompleted {
                scheduled_event_id,
                result,
                ..
            } => self.end(*scheduled_event_id, Ok(result.clone())),
            EventKind::ActivityTaskFailed {
                scheduled_event_id,
                failure,
                ..
            } => self.end(*scheduled_event_id, Err(failure.clone())),
            EventKind::ActivityTaskTimedOut {
                scheduled_event_id,
                timeout,
                last_failure,
                ..
            } => self.end(
                *scheduled_event_id,
                Err(timed_out(*timeout, last_failure.as_ref())),
            ),
            EventKind::TimerFired { started_event_id } => self.end(*started_event_id, Ok(Payload::null())),
            EventKind::StartChildWorkflowExecutionFailed {
                initiated_event_id,
                failure,
            } => self.end(*initiated_event_id, Err(failure.clone())),
            EventKind::ChildWorkflowExecutionClosed {
                initiated_event_id,
                outcome,
            } => self.end(*initiated_event_id, child_outcome(outcome)),
            EventKind::WorkflowExecutionStarted(_)
            | EventKind::WorkflowExecutionTerminated { .. }
            | EventKind::WorkflowExecutionTimedOut { .. }
            | EventKind::ActivityTaskStarted { .. }
            | EventKind::ChildWorkflowExecutionStarted { .. } => {}
            // Commands of the code, which replay compares and does not apply.
            EventKind::WorkflowExecutionCompleted { .. }
            | EventKind::WorkflowExecutionFailed { .. }
            | EventKind::WorkflowExecutionCanceled { .. }
            | EventKind::WorkflowExecutionContinuedAsNew { .. }
            | EventKind::ActivityTaskScheduled { .. }
            | EventKind::ActivityTaskCanceled { .. }
            | EventKind::TimerStarted { .. }
            | EventKind::TimerCanceled { .. }
            | EventKind::StartChildWorkflowExecutionInitiated { .. }
            | EventKind::RequestCancelExternalWorkflowExecutionInitiated { .. }
            | EventKind::MarkerRecorded { .. } => {}
        }
    }

    /// Ends the operation that an event started.
    fn end(&mut self, begun_by: u64, outcome: Outcome) {
        let Some(index) = self.operation_of(begun_by) else {
            return;
        };
        // The operation ended by itself before the history has the command to end it.
        self.commands
            .retain(|command| command.operation != Some(index) || !is_ending(&command.kind));
        self.resolve(index, outcome);
    }

    pub(super) fn resolve(&mut self, index: usize, outcome: Outcome) {
        if let Some(operation) = self.operations.get_mut(index)
            && operation.outcome.is_none()
        {
            operation.outcome = Some(outcome);
            if let Some(waker) = operation.waker.take() {
                waker.wake();
            }
        }
    }
}

fn timed_out(timeout: TimeoutKind, last: Option<&Failure>) -> Failure {
    let mut failure = Failure {
        non_retryable: true,
        ..timeout.failure()
    };
    if let Some(last) = last {
        failure.message = format!("{} The failure before: {last}", failure.message);
    }
    failure
}

fn child_outcome(outcome: &ChildOutcome) -> Outcome {
    match outcome {
        ChildOutcome::Completed(result) => Ok(result.clone()),
        ChildOutcome::Failed(failure) => Err(failure.clone()),
        ChildOutcome::Canceled => Err(Failure::canceled()),
        ChildOutcome::Terminated => Err(Failure::permanent("Terminated", "The child run was terminated.")),
        ChildOutcome::TimedOut => Err(Failure::permanent(
            "Timeout",
            "The child run took longer than it may.",
        )),
    }
}
