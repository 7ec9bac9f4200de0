//! Contains the only function that writes runs and their updates.

use events::envelope::Category;
use events::publish;
use platform::queue::MAX_DELAY;
use platform::trace::{self, Attributes, RunSpan};
use platform::{Error, Result, Tenant, UtcTime, metrics};
use tracing::warn;

use super::delivery::delivery_of;
use super::{Engine, lifecycle};
use crate::draft::Draft;
use crate::limits;
use crate::object_keys::update_folder;
use crate::records::UpdatesWrite;
use crate::state::RunState;
use crate::status::RunStatus;
use crate::store::{Commit, Committed};
use crate::turn::NewUpdate;
use crate::updates::{MAX_UPDATES, UpdateMessage, numbered};

#[derive(Debug)]
pub(super) enum WriteOutcome {
    /// The new states are durable.
    Done(Vec<RunState>),
    /// Another writer was faster.
    Stale,
    /// The workflow id belongs to another run, or the run that must be open has ended.
    Taken,
}

impl Engine {
    /// Writes a commit. Adds its events and update messages, and the change of the delivery that the run
    /// carries out. After a lost response, the stored state or update says whether the write happened.
    pub(super) async fn write(&self, tenant: &Tenant, mut commit: Commit) -> Result<WriteOutcome> {
        let commit_id = self.new_commit_id();
        commit.delivery = delivery_of(&mut commit.runs, commit.delivery);
        let (mut waking, mut ended) = (Vec::new(), Vec::new());
        for draft in &mut commit.runs {
            self.keep_payloads(tenant, draft).await?;
            waking.push(plan_wake(draft));
            commit.events.extend(lifecycle::written(draft)?);
            if !draft.updates.is_empty() {
                let messages = std::mem::take(&mut draft.updates);
                commit.updates = Some(self.number(tenant, draft, messages).await?);
            }
            // A history ends once, so a closed run with new events ends with this write.
            ended.push(draft.state.is_closed() && !draft.new_events().is_empty());
            warn_of_length(draft);
            draft.seal(commit_id.clone())?;
        }
        let of_runs = commit.events.len();
        commit.events.extend(self.failure_event(tenant, &commit).await?);
        let committed = match self.services.store.commit(tenant, &commit).await {
            Ok(committed) => committed,
            Err(cause) => match self.find_commit(tenant, &commit, &commit_id).await {
                Ok(true) => Committed::Done,
                _ => return Err(cause),
            },
        };
        match committed {
            Committed::Stale => {
                // The faster write may be this one: its response was lost and the request was repeated. An
                // update alone is a transaction, whose repetition is not refused.
                if commit.runs.is_empty() || !self.find_commit(tenant, &commit, &commit_id).await? {
                    return Ok(WriteOutcome::Stale);
                }
            }
            Committed::Taken => return Ok(WriteOutcome::Taken),
            Committed::GuardFailed => {
                return Err(Error::unavailable(
                    "the record that this start depends on changed meanwhile",
                ));
            }
            Committed::Done => {}
        }
        for (index, event) in commit.events.iter().enumerate() {
            let category = if index < of_runs {
                Category::Workflow
            } else {
                Category::System
            };
            metrics::event_accepted(category.as_str());
            publish::publish_stored(self.services.bus.as_ref(), event).await;
        }
        let (mut states, mut changed) = (Vec::new(), commit.updates.map(|updates| updates.run_id));
        for ((draft, wake), has_ended) in commit.runs.into_iter().zip(waking).zip(ended) {
            if draft.expected.is_none() {
                metrics::run_started(&draft.state.workflow_type);
            }
            if has_ended {
                metrics::run_closed(&draft.state.workflow_type, draft.state.status.as_str());
                record_span(&draft.state);
            }
            if let Some(delay_ms) = wake {
                self.hint_at(tenant, &draft.state, delay_ms).await;
            }
            if draft.state.is_closed() {
                changed = Some(draft.state.run_id.clone());
            }
            states.push(draft.state);
        }
        if let (Some(listener), Some(run_id)) = (&self.services.listener, changed) {
            listener.changed(tenant, &run_id);
        }
        Ok(WriteOutcome::Done(states))
    }

    /// Returns whether a commit with an unknown outcome happened.
    async fn find_commit(&self, tenant: &Tenant, commit: &Commit, commit_id: &str) -> Result<bool> {
        let store = &self.services.store;
        if let Some(draft) = commit.runs.first() {
            let state = store.find(tenant, &draft.state.run_id).await?;
            return Ok(state.is_some_and(|state| state.commits.iter().any(|id| id == commit_id)));
        }
        match &commit.updates {
            Some(updates) => store.has_updates(tenant, updates).await,
            None => Ok(false),
        }
    }

    async fn number(&self, tenant: &Tenant, draft: &Draft, updates: Vec<NewUpdate>) -> Result<UpdatesWrite> {
        let messages: Result<_, _> = updates.into_iter().map(UpdateMessage::from_new).collect();
        let messages = messages.map_err(Error::internal)?;
        let run = (draft.state.run_id.as_str(), draft.state.started_at);
        self.numbered_updates(tenant, run, messages).await
    }

    /// Numbers new updates after those of the run.
    pub(super) async fn numbered_updates(
        &self,
        tenant: &Tenant,
        (run_id, started_at): (&str, UtcTime),
        mut messages: Vec<UpdateMessage>,
    ) -> Result<UpdatesWrite> {
        let unkept = messages.len().saturating_sub(MAX_UPDATES as usize);
        let kept = messages.get_mut(unkept..).unwrap_or_default();
        kept.iter_mut().for_each(UpdateMessage::shorten);
        let details = kept.iter_mut().filter_map(|message| message.details.as_mut());
        let folder = update_folder(tenant, run_id);
        self.keep_large(&folder, details.collect()).await?;
        let head = self.services.store.updates_head(tenant, run_id).await?;
        numbered((run_id, started_at), head, messages, self.services.clock.now())
    }
}

/// Records the span of a run that has ended.
fn record_span(state: &RunState) {
    if !trace::is_on() {
        return;
    }
    trace::record_run(&state.run_id, state.cause().as_ref(), || {
        let mut attributes = Attributes::default();
        attributes.push("millrace.account", &state.account);
        attributes.push("millrace.project", &state.project);
        attributes.push("millrace.workflow.type", &state.workflow_type);
        attributes.push("millrace.workflow.id", &state.workflow_id);
        attributes.push("millrace.run.id", &state.run_id);
        attributes.push("millrace.run.status", state.status.as_str());
        let is_error = matches!(state.status, RunStatus::Failed | RunStatus::TimedOut);
        if is_error {
            attributes.push("error.type", state.status.as_str());
        }
        RunSpan {
            name: format!("run {}", state.workflow_type),
            started_at: state.started_at,
            ended_at: state.closed_at.unwrap_or(state.last_event_at),
            attributes,
            is_error,
        }
    });
}

/// Returns the delay of the message that wakes the run for its next timer, or None if no message is needed.
fn plan_wake(draft: &mut Draft) -> Option<u64> {
    let next = draft.next_time()?;
    let delay_ms = next.millis_since(draft.now);
    if draft.state.wake_sent_for == Some(next) || u128::from(delay_ms) > MAX_DELAY.as_millis() {
        return None;
    }
    draft.state.wake_sent_for = Some(next);
    Some(delay_ms)
}

fn warn_of_length(draft: &Draft) {
    let (before, now) = (draft.first_new.saturating_sub(1), draft.state.last_event);
    if before < limits::WARN_EVENTS && now >= limits::WARN_EVENTS {
        warn!(
            account = draft.state.account,
            project = draft.state.project,
            run_id = draft.state.run_id,
            workflow_type = draft.state.workflow_type,
            events = now,
            most = limits::MAX_EVENTS,
            "the history of a run is long: let it go on as a new one"
        );
    }
}
