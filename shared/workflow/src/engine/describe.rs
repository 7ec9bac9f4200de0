//! One run in full, as callers see it.

use platform::{Error, Result, Tenant};
use serde::Serialize;

use super::Engine;
use crate::event::{Event, EventKind};
use crate::state::RunState;
use crate::views::{HistoryView, RunDetail, event_views, task_views};

/// Most bytes of a history in one answer: a function answers with at most 6 MB.
const MAX_HISTORY_BYTES: usize = 4_500_000;

/// In which form a history is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryForm {
    /// As its events, those after this one.
    Events {
        /// 0 for all.
        after: u64,
    },
    /// As its tasks.
    Tasks,
}

impl Engine {
    /// One run in full, with its history in the form that is wanted, if any.
    pub async fn describe(
        &self,
        tenant: &Tenant,
        state: &RunState,
        form: Option<HistoryForm>,
    ) -> Result<RunDetail> {
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
                let view = match form {
                    HistoryForm::Events { after } => events(&history, after)?,
                    HistoryForm::Tasks => tasks(&history, state)?,
                };
                (history.first().cloned(), history.last().cloned(), Some(view))
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
        Ok(RunDetail::new(state, &started.input, end.as_ref(), history))
    }

    async fn event(&self, tenant: &Tenant, state: &RunState, id: u64) -> Result<Option<Event>> {
        match state.tail.iter().find(|event| event.id == id) {
            Some(event) => Ok(Some(event.clone())),
            None => self.services.store.event(tenant, &state.run_id, id).await,
        }
    }
}

fn events(history: &[Event], after: u64) -> Result<HistoryView> {
    let views = event_views(history)
        .into_iter()
        .filter(|event| event.event_id > after);
    let (events, cut) = up_to_limit(views)?;
    let next_after = events.last().filter(|_| cut).map(|event| event.event_id);
    Ok(HistoryView::Events { events, next_after })
}

fn tasks(history: &[Event], state: &RunState) -> Result<HistoryView> {
    let (tasks, truncated) = up_to_limit(task_views(history, state).into_iter())?;
    Ok(HistoryView::Tasks { tasks, truncated })
}

/// As many as fit into one answer, and whether there are more.
fn up_to_limit<T: Serialize>(views: impl Iterator<Item = T>) -> Result<(Vec<T>, bool)> {
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for view in views {
        bytes += serde_json::to_vec(&view).map_err(Error::internal)?.len();
        if bytes > MAX_HISTORY_BYTES && !kept.is_empty() {
            return Ok((kept, true));
        }
        kept.push(view);
    }
    Ok((kept, false))
}
