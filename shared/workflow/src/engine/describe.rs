//! Returns one run in full, in the form that callers see.

use platform::http::sent_size::{MAX_SENT_BYTES, sent_bytes};
use platform::{Error, Result, Tenant};
use serde::Serialize;

use super::Engine;
use crate::event::{Event, EventKind};
use crate::state::RunState;
use crate::views::{History, WorkflowRun, history_events, history_tasks};

/// Upper limit of an answer without the fields of the run, in bytes.
const MAX_ANSWER_BYTES: usize = MAX_SENT_BYTES - 100_000;
/// Space that an answer always leaves for the history, in bytes.
const MIN_HISTORY_BYTES: usize = 250_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryForm {
    /// Events after this one.
    Events {
        /// 0 for all.
        after: u64,
    },
    Tasks,
}

impl Engine {
    pub async fn describe(
        &self,
        tenant: &Tenant,
        state: &RunState,
        form: Option<HistoryForm>,
    ) -> Result<WorkflowRun> {
        let (mut first, mut last, history) = match form {
            None => {
                let first = self.event(tenant, state, 1).await?;
                let last = match state.is_closed() {
                    true => self.event(tenant, state, state.last_event).await?,
                    false => None,
                };
                (first, last, None)
            }
            Some(form) => {
                let history = self.history(tenant, state).await?;
                let (first, last) = (history.first().cloned(), history.last().cloned());
                let shown = [&first, &last].into_iter().flatten().cloned();
                // Only the length of a payload in the bucket is known. The estimate assumes that half of it
                // are quotes.
                let shown = shown
                    .filter_map(|mut event| event.kind.payload_mut().map(|payload| payload.bytes() * 3 / 2));
                let room = MAX_ANSWER_BYTES.saturating_sub(shown.sum());
                let room = room.max(MIN_HISTORY_BYTES);
                let view = match form {
                    HistoryForm::Events { after } => events(&history, after, room)?,
                    HistoryForm::Tasks => tasks(&history, state, room)?,
                };
                (first, last, Some(view))
            }
        };
        for event in [&mut first, &mut last].into_iter().flatten() {
            if let Some(payload) = event.kind.payload_mut() {
                self.fetch(payload).await?;
            }
        }
        let Some(EventKind::WorkflowExecutionStarted(started)) = first.map(|event| event.kind) else {
            return Err(Error::internal(format!(
                "run {} does not begin with its start",
                state.run_id
            )));
        };
        let end = last.map(|event| event.kind);
        Ok(WorkflowRun::new(state, &started.input, end.as_ref(), history))
    }

    async fn event(&self, tenant: &Tenant, state: &RunState, id: u64) -> Result<Option<Event>> {
        match state.tail.iter().find(|event| event.id == id) {
            Some(event) => Ok(Some(event.clone())),
            None => self.services.store.event(tenant, &state.run_id, id).await,
        }
    }
}

fn events(history: &[Event], after: u64, room: usize) -> Result<History> {
    let views = history_events(history)
        .into_iter()
        .filter(|event| event.event_id > after);
    let (events, cut) = up_to(room, views)?;
    let next_after = events.last().filter(|_| cut).map(|event| event.event_id);
    Ok(History::events(events, next_after))
}

fn tasks(history: &[Event], state: &RunState, room: usize) -> Result<History> {
    let (tasks, truncated) = up_to(room, history_tasks(history, state).into_iter())?;
    Ok(History::tasks(tasks, truncated))
}

/// Returns as many views as fit into `room` bytes, and whether more are left.
fn up_to<T: Serialize>(room: usize, views: impl Iterator<Item = T>) -> Result<(Vec<T>, bool)> {
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for view in views {
        bytes += sent_bytes(&serde_json::to_vec(&view).map_err(Error::internal)?);
        if bytes > room && !kept.is_empty() {
            return Ok((kept, true));
        }
        kept.push(view);
    }
    Ok((kept, false))
}
