//! Appends the next events of a run: results of its attempts, and the commands of its turns.

use std::sync::Arc;

use events::action::RunAction;
use platform::{Result, Tenant, metrics};
use tracing::warn;

use super::Engine;
use super::attempt::Finished;
use super::write::WriteOutcome;
use crate::draft::Draft;
use crate::event::{Event, EventKind, Started};
use crate::limits;
use crate::payload::Payload;
use crate::records::CurrentWrite;
use crate::registry::Registry;
use crate::state::RunState;
use crate::store::Commit;
use crate::turn::Turn;
use crate::turn_failure::TurnFailure;
use crate::turn_runner::Task;
use crate::updates::{MAX_UPDATES, UpdateMessage};

pub(super) struct Known {
    pub state: RunState,
    /// Events from the first, with their payloads, including those of the current draft. Empty until a turn
    /// needs them.
    pub history: Arc<Vec<Event>>,
}

impl Known {
    /// Appends the draft's new events to a history that was read.
    fn follow(&mut self, draft: &Draft) {
        let missing = draft.state.last_event.saturating_sub(self.history.len() as u64);
        if missing == 0 || self.history.is_empty() {
            return;
        }
        let tail = &draft.state.tail;
        match tail
            .len()
            .checked_sub(usize::try_from(missing).unwrap_or(usize::MAX))
        {
            Some(from) => {
                let new = tail.get(from..).unwrap_or_default();
                Arc::make_mut(&mut self.history).extend(new.iter().cloned());
            }
            None => self.history = Arc::default(),
        }
    }
}

impl Engine {
    /// Records ended attempts and makes turns until neither adds events. Returns the run that this run
    /// continues as, if any.
    pub(super) async fn advance(
        &self,
        tenant: &Tenant,
        known: &mut Known,
        draft: &mut Draft,
        finished: &mut Vec<Finished>,
    ) -> Result<Option<Draft>> {
        let mut next_run = None;
        loop {
            let accepted = accept(draft, finished, &self.services.worker);
            let waits = draft
                .state
                .failed_turn
                .as_ref()
                .is_some_and(|failed| failed.next_attempt_at > draft.now);
            if draft.state.needs_turn() && !waits {
                next_run = self.make_turn(tenant, known, draft).await?.or(next_run);
                if !draft.state.needs_turn() {
                    continue;
                }
            }
            if !accepted || draft.state.is_closed() || draft.state.needs_turn() {
                check_length(draft);
                known.follow(draft);
                return Ok(next_run);
            }
        }
    }

    async fn make_turn(
        &self,
        tenant: &Tenant,
        known: &mut Known,
        draft: &mut Draft,
    ) -> Result<Option<Draft>> {
        let services = &self.services;
        let Some(code) = services.registry.find_workflow(&draft.state.workflow_type) else {
            fail_turn(draft, TurnFailure::unknown_type(&draft.state.workflow_type));
            return Ok(None);
        };
        let _permit = self
            .sharing
            .turn_permit(tenant, self.services.sleep.as_ref())
            .await?;
        self.know_history(tenant, known, draft).await?;
        let task = Task {
            code: Arc::clone(code),
            history: Arc::clone(&known.history),
            processed: draft.state.processed,
            query: None,
        };
        let turn = match services.turn_runner.run(task).await {
            Ok(turn) => turn,
            Err(failure) => {
                warn!(
                    account = tenant.account(),
                    project = tenant.project(),
                    run_id = draft.state.run_id,
                    workflow_type = draft.state.workflow_type,
                    %failure,
                    "the turn of a run came to nothing"
                );
                fail_turn(draft, failure);
                return Ok(None);
            }
        };
        if let Some(failure) = too_many(draft, &turn.events).or_else(|| too_large(draft, &turn)) {
            fail_turn(draft, failure);
            return Ok(None);
        }
        let next_run = take_turn(tenant, draft, &known.history, turn, &services.registry)?;
        known.follow(draft);
        Ok(next_run)
    }

    /// Reads the history unless it was read.
    async fn know_history(&self, tenant: &Tenant, known: &mut Known, draft: &Draft) -> Result<()> {
        if known.history.is_empty() {
            let mut history = self.history(tenant, &known.state).await?;
            self.fetch_all(&mut history, false).await?;
            known.history = Arc::new(history);
        }
        known.follow(draft);
        Ok(())
    }

    /// Writes a draft. Returns the new state, or None if another writer was faster.
    pub(super) async fn write_drafts(
        &self,
        tenant: &Tenant,
        draft: Draft,
        next_run: Option<Draft>,
    ) -> Result<Option<RunState>> {
        let mut commit = Commit {
            runs: vec![draft],
            ..Commit::default()
        };
        let goes_on = next_run.is_some();
        if let (Some(next), Some(ending)) = (next_run, commit.runs.first()) {
            commit.current = Some(CurrentWrite {
                workflow_id: next.state.workflow_id.clone(),
                run_id: next.state.run_id.clone(),
                expected: match ending.state.is_unnamed {
                    true => None,
                    false => self.current_of(tenant, &ending.state).await?,
                },
            });
            commit.runs.push(next);
        }
        match self.write(tenant, commit).await? {
            WriteOutcome::Done(states) => {
                if let Some(next) = states.get(1).filter(|_| goes_on) {
                    self.hint_at(tenant, next, 0).await;
                }
                Ok(states.into_iter().next())
            }
            WriteOutcome::Stale | WriteOutcome::Taken => Ok(None),
        }
    }

    /// Returns the run that owns the workflow id of an open run. The entry of a run without events expires,
    /// and may have done so while no worker ran.
    async fn current_of(&self, tenant: &Tenant, state: &RunState) -> Result<Option<String>> {
        let store = &self.services.store;
        if state.is_unannounced && store.find_current(tenant, &state.workflow_id).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(state.run_id.clone()))
    }
}

fn fail_turn(draft: &mut Draft, failure: TurnFailure) {
    metrics::turn_failed();
    draft.turn_failed(failure);
}

/// Applies a turn to a draft. Returns the run that it continues as, if any, which takes over unread signals
/// and a request to cancel.
pub(crate) fn take_turn(
    tenant: &Tenant,
    draft: &mut Draft,
    history: &[Event],
    turn: Turn,
    registry: &Registry,
) -> Result<Option<Draft>> {
    draft.updates.extend(turn.updates);
    draft.reports.extend(turn.reports);
    let mut next_run = None;
    for kind in turn.events {
        if let EventKind::WorkflowExecutionContinuedAsNew {
            new_run_id,
            input,
            workflow_type,
            program,
        } = &kind
        {
            let mut started = first_event(history, &draft.state)?;
            let is_other = workflow_type.is_some();
            if let Some(workflow_type) = workflow_type {
                started.workflow_type.clone_from(workflow_type);
            }
            let about = draft.state.about.clone();
            let mut next = Draft::new(RunState::new(tenant, new_run_id, about), draft.now);
            next.state.lineage.clone_from(&draft.state.lineage);
            next.state.trace.clone_from(&draft.state.trace);
            next.state.delivery.clone_from(&draft.state.delivery);
            next.state.is_unannounced = registry.is_unannounced(&started.workflow_type);
            next.append(EventKind::WorkflowExecutionStarted(Box::new(Started {
                run_id: new_run_id.clone(),
                input: input.clone(),
                continued_from: Some(draft.state.run_id.clone()),
                program: program.clone(),
                ..started
            })));
            if is_other {
                next.announce(RunAction::Started);
            }
            for (name, input) in &turn.unread_signals {
                next.append(EventKind::WorkflowExecutionSignaled {
                    name: name.clone(),
                    input: input.clone(),
                    identity: String::new(),
                });
            }
            // The request may have come after the code returned. Its caller was told that the history has it.
            let asked_to_stop = history
                .iter()
                .find(|event| matches!(event.kind, EventKind::WorkflowExecutionCancelRequested { .. }));
            if let Some(asked) = asked_to_stop {
                next.append(asked.kind.clone());
            }
            next_run = Some(next);
        }
        draft.append(kind);
    }
    draft.turned();
    Ok(next_run)
}

/// Fails a run whose history reaches the limit, before it becomes too long to read.
pub(crate) fn check_length(draft: &mut Draft) {
    let state = &draft.state;
    let full = state.last_event >= limits::MAX_EVENTS || state.history_bytes >= limits::MAX_HISTORY_BYTES;
    if full && !state.is_closed() {
        let reason = format!(
            "The history has {} events and {} bytes; a run has at most {} and {}.",
            state.last_event,
            state.history_bytes,
            limits::MAX_EVENTS,
            limits::MAX_HISTORY_BYTES
        );
        draft.append(EventKind::WorkflowExecutionTerminated {
            reason: Some(reason),
            identity: "system".to_owned(),
        });
    }
}

/// Records the ended attempts that the run waits for. Returns whether there were any.
pub(crate) fn accept(draft: &mut Draft, finished: &mut Vec<Finished>, worker: &str) -> bool {
    let mut accepted = false;
    finished.retain(|ended| {
        let found = draft.state.activity(&ended.activity_id);
        let Some((scheduled, _)) = found.filter(|(_, activity)| activity.attempt == ended.attempt) else {
            return true;
        };
        if draft.can_begin(scheduled) {
            draft.begin_attempt(scheduled, worker);
            if let Some(activity) = draft.state.activities.get_mut(&scheduled) {
                activity.started_at = Some(ended.started_at);
            }
        }
        draft.end_attempt(scheduled, ended.outcome.clone());
        accepted = true;
        false
    });
    accepted
}

/// Fails a turn that starts more than a run may wait for.
pub(crate) fn too_many(draft: &Draft, events: &[EventKind]) -> Option<TurnFailure> {
    let count = |begins: fn(&EventKind) -> bool| events.iter().filter(|kind| begins(kind)).count();
    let state = &draft.state;
    let kinds: [(&str, usize, usize); 3] = [
        (
            "activities",
            state.activities.len(),
            count(|kind| matches!(kind, EventKind::ActivityTaskScheduled { .. })),
        ),
        (
            "timers",
            state.timers.len(),
            count(|kind| matches!(kind, EventKind::TimerStarted { .. })),
        ),
        (
            "child runs",
            state.children.len(),
            count(|kind| matches!(kind, EventKind::StartChildWorkflowExecutionInitiated { .. })),
        ),
    ];
    let (what, ..) = kinds
        .into_iter()
        .find(|(_, waits, more)| waits + more > limits::MAX_PENDING)?;
    Some(TurnFailure::stuck(format!(
        "The code waits for more than {} {what} at a time.",
        limits::MAX_PENDING
    )))
}

/// Fails a turn whose output exceeds one commit, or an update that exceeds one record. A large payload counts
/// as its reference.
pub(crate) fn too_large(draft: &Draft, turn: &Turn) -> Option<TurnFailure> {
    let small = |payload: &Payload| payload.bytes().min(limits::SMALL_PAYLOAD_BYTES);
    let of_event = |kind: &EventKind| {
        let json = serde_json::to_vec(kind).map_or(0, |json| json.len());
        let mut kind = kind.clone();
        let of_payload = |payload: &mut Payload| payload.json().len().saturating_sub(small(payload));
        json.saturating_sub(kind.payload_mut().map_or(0, of_payload))
    };
    let before = draft.new_events().iter().map(|event| of_event(&event.kind));
    let unread = turn.unread_signals.iter();
    let events = before.sum::<usize>()
        + turn.events.iter().map(of_event).sum::<usize>()
        + unread
            .map(|(name, input)| name.len() + small(input))
            .sum::<usize>();
    let mut updates = 0;
    let published = draft.updates.iter().chain(&turn.updates);
    for update in published.rev().take(MAX_UPDATES as usize) {
        let mut message = match UpdateMessage::from_new(update.clone()) {
            Ok(message) => message,
            Err(failure) => return Some(TurnFailure::stuck(failure.to_string())),
        };
        message.shorten();
        let details = message.details.take();
        updates += serde_json::to_vec(&message).map_or(0, |json| json.len());
        updates += details.as_ref().map_or(0, small);
    }
    (events + updates > limits::MAX_WRITE_BYTES).then(|| {
        TurnFailure::stuck(format!(
            "The code asks for {events} bytes of events and {updates} bytes of update messages at a time; {} are the most.",
            limits::MAX_WRITE_BYTES
        ))
    })
}

fn first_event(history: &[Event], state: &RunState) -> Result<Started> {
    match history.first().map(|event| &event.kind) {
        Some(EventKind::WorkflowExecutionStarted(started)) => Ok((**started).clone()),
        _ => Err(platform::Error::internal(format!(
            "run {} has no first event",
            state.run_id
        ))),
    }
}
