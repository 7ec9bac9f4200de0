//! Plans how ended runs are removed.
//!
//! A run whose history fits into its state is one record, and expires with it. A run with records or objects
//! of its own, a child run, and a run that continued as another are removed in steps.

use events::retention::Retention;
use platform::UtcTime;

use crate::draft::Draft;
use crate::object_keys::ELSEWHERE;
use crate::payload::CLAIM_CHECK_BYTES;
use crate::records::{CurrentWrite, EndedCurrent};
use crate::state::RunState;
use crate::status::RunStatus;
use crate::store::Commit;

pub(crate) const DAY_MS: u64 = 24 * 3_600_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// Its record expires at this time.
    Expires(UtcTime),
    /// It is checked at this time, and removed in steps.
    InSteps(UtcTime),
}

/// Returns how an ended run is removed; None for an open one. `has_more`: it has other records or objects.
pub(crate) fn plan(state: &RunState, has_more: bool, retention: &Retention) -> Option<Removal> {
    let closed_at = state.closed_at?;
    let at = goes_at(state, closed_at, retention);
    let in_steps = has_more || may_have_objects(state);
    Some(match (state.parent.is_some(), state.status) {
        // Most parents end within a day of their child, so one check is enough.
        (true, _) => Removal::InSteps(at.plus_ms(DAY_MS)),
        // The next run of its chain may be open for any time: a manual retry starts a webhook's schedule
        // again.
        (false, RunStatus::ContinuedAsNew) => Removal::InSteps(at),
        (false, _) if in_steps => Removal::InSteps(at),
        (false, _) => Removal::Expires(at),
    })
}

/// Whether the run has other records or objects. `state` is the stored text of its state.
pub(crate) fn has_more(draft: &Draft, state: &str) -> bool {
    state.starts_with(ELSEWHERE) || !draft.chunks.is_empty() || draft.state.tail_begins() > 1
}

fn goes_at(state: &RunState, closed_at: UtcTime, retention: &Retention) -> UtcTime {
    let at = retention.run_until(closed_at);
    state.kept_until.map_or(at, |until| until.max(at))
}

/// Whether a payload of the run may be in the bucket; smaller ones never are.
pub(crate) fn may_have_objects(state: &RunState) -> bool {
    state.has_objects || state.history_bytes > CLAIM_CHECK_BYTES as u64
}

/// Returns the workflow id to expire together with the run that a commit ends. `state_text` is the stored
/// text of its state.
pub(crate) fn ended(commit: &Commit, state_text: &str, retention: &Retention) -> Option<EndedCurrent> {
    let draft = commit.runs.first()?;
    let state = &draft.state;
    let ends = draft.new_events().iter().any(|event| event.kind.is_terminal());
    if !ends || commit.current.is_some() || state.is_unannounced || state.is_unnamed {
        return None;
    }
    match plan(state, has_more(draft, state_text), retention)? {
        Removal::Expires(at) => Some(EndedCurrent {
            workflow_id: state.workflow_id.clone(),
            run_id: state.run_id.clone(),
            expires_at: at.as_seconds(),
        }),
        Removal::InSteps(_) => None,
    }
}

/// Returns when the workflow id of a new run expires, in Unix seconds: for a run without events, which ends
/// before and is kept longer.
pub(crate) fn current_expires_at(
    commit: &Commit,
    current: &CurrentWrite,
    retention: &Retention,
) -> Option<i64> {
    let mut drafts = commit.runs.iter();
    let draft = drafts.find(|draft| draft.state.run_id == current.run_id)?;
    let until = retention.run_until(draft.now);
    draft.state.is_unannounced.then(|| until.as_seconds())
}
