//! Removes ended runs, by expiry or in steps.
//!
//! A run whose history fits into its state is one record, and expires with it. A run with records or objects
//! of its own, a child run, and a run that continued as another are removed in steps: after its retention,
//! such a run stays as long as another kept run names it.

use events::retention::Retention;
use platform::objects::Objects;
use platform::{Error, Result, Tenant, UtcTime};

use crate::draft::Draft;
use crate::event::{Event, EventKind};
use crate::payload::CLAIM_CHECK_BYTES;
use crate::records::runs::{CurrentWrite, EndedCurrent, RunWrite, UPDATE_RETENTION_DAYS};
use crate::state::RunState;
use crate::status::RunStatus;
use crate::store::{Commit, Store as _};
use crate::table::{ELSEWHERE, TableStore, state_folder};

const DAY_MS: u64 = 24 * 3_600_000;
/// Longest duration of a chain of runs that deliver to a webhook.
const CHAIN_MS: u64 = 7 * DAY_MS;
/// Longest chain that one removal follows; a longer one waits for a day.
const MAX_HOPS: u32 = 100;
/// Prefix of the details of updates, for all tenants, because a lifecycle rule of the bucket names one
/// prefix. No account can have this name.
const UPDATE_DETAILS: &str = "payloads/~updates/";
/// Retention of the details of updates in days: that of the updates, plus the days that DynamoDB takes to
/// expire them.
const UPDATE_DETAILS_DAYS: u64 = UPDATE_RETENTION_DAYS.unsigned_abs() + 7;

/// How a run is removed.
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
        // The whole chain of a webhook's delivery ends within days.
        (false, RunStatus::ContinuedAsNew) if !in_steps && is_attempt_of_chain(state) => {
            Removal::Expires(at.plus_ms(CHAIN_MS))
        }
        (false, RunStatus::ContinuedAsNew) => Removal::InSteps(at),
        (false, _) if in_steps => Removal::InSteps(at),
        (false, _) => Removal::Expires(at),
    })
}

/// Whether the run has other records or objects. `state` is the stored text of its state.
pub(crate) fn has_more(draft: &Draft, state: &str) -> bool {
    state.starts_with(ELSEWHERE) || !draft.chunks.is_empty() || draft.state.tail_begins() > 1
}

/// Whether a run without events of its own continued as another run of its type.
fn is_attempt_of_chain(state: &RunState) -> bool {
    let last = state.tail.last().map(|event| &event.kind);
    let is_same_type = |kind| {
        matches!(
            kind,
            &EventKind::WorkflowExecutionContinuedAsNew {
                workflow_type: None,
                ..
            }
        )
    };
    state.is_unannounced && last.is_some_and(is_same_type)
}

pub(crate) fn goes_at(state: &RunState, closed_at: UtcTime, retention: &Retention) -> UtcTime {
    let at = retention.run_until(closed_at);
    state.kept_until.map_or(at, |until| until.max(at))
}

/// Whether a payload of the run may be in the bucket; smaller ones never are.
pub(crate) fn may_have_objects(state: &RunState) -> bool {
    state.has_objects || state.history_bytes > CLAIM_CHECK_BYTES as u64
}

/// Prefix of a run's payloads.
pub(crate) fn payload_folder(tenant: &Tenant, run_id: &str) -> String {
    format!("payloads/{}/{}/{run_id}/", tenant.account(), tenant.project())
}

/// Prefix of the details of a run's updates.
pub(crate) fn update_folder(tenant: &Tenant, run_id: &str) -> String {
    format!(
        "{UPDATE_DETAILS}{}/{}/{run_id}/",
        tenant.account(),
        tenant.project()
    )
}

/// Removes the details of expired updates, as a lifecycle rule of the bucket does in the cloud. Returns their
/// number.
pub async fn remove_update_details(objects: &Objects, now: UtcTime) -> Result<usize> {
    let mut removed = 0;
    for object in objects.list(UPDATE_DETAILS).await? {
        if object.modified.plus_ms(UPDATE_DETAILS_DAYS * DAY_MS) < now {
            objects.remove(&object.key).await?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Returns the workflow id to expire together with the run that a commit ends.
pub(crate) fn ended(commit: &Commit, runs: &[RunWrite], retention: &Retention) -> Option<EndedCurrent> {
    let (draft, run) = (commit.runs.first()?, runs.first()?);
    let state = &draft.state;
    let ends = draft.new_events().iter().any(|event| event.kind.is_terminal());
    if !ends || commit.current.is_some() || state.is_unannounced || state.is_unnamed {
        return None;
    }
    match plan(state, has_more(draft, &run.record.state), retention)? {
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

impl TableStore {
    /// Removes a run whose retention has ended, unless another kept run names it. Continues an interrupted
    /// removal.
    pub(crate) async fn remove_run(&self, tenant: &Tenant, run_id: &str, now: UtcTime) -> Result<()> {
        let runs = &self.runs;
        let Some(found) = runs.find_kept(tenant, run_id).await? else {
            return Ok(());
        };
        if found.removed_at().is_none_or(|at| at > now) {
            return Ok(());
        }
        let objects = if found.is_mark() {
            !found.record.state.is_empty()
        } else {
            let elsewhere = found.record.state.starts_with(ELSEWHERE);
            let Some(state) = self.read_state(found.record.clone()).await? else {
                return Err(Error::unavailable(format!(
                    "the state of run {run_id} is not there"
                )));
            };
            if let Some(until) = self.named_until(tenant, &state, now).await? {
                return runs.postpone_removal(tenant, run_id, &found, until).await;
            }
            let objects = elsewhere || may_have_objects(&state);
            if !runs
                .hide(tenant, run_id, &state.workflow_id, (&found, objects))
                .await?
            {
                return Ok(());
            }
            objects
        };
        runs.remove_history(tenant, run_id).await?;
        if objects {
            for folder in [payload_folder(tenant, run_id), state_folder(tenant, run_id)] {
                for object in self.objects.list(&folder).await? {
                    self.objects.remove(&object.key).await?;
                }
            }
        }
        runs.remove_mark(tenant, run_id).await
    }

    /// Returns the time up to which another kept run names this one; None if no kept run names it.
    async fn named_until(&self, tenant: &Tenant, state: &RunState, now: UtcTime) -> Result<Option<UtcTime>> {
        let of_parent = match &state.parent {
            Some(parent) => self.stays_until(tenant, &parent.run_id, now).await?.until(),
            None => None,
        };
        let mut of_chain = None;
        let mut next = self.continues_as(tenant, state).await?;
        for _ in 0..MAX_HOPS {
            let Some(run_id) = next.take() else {
                return Ok(of_parent.max(of_chain));
            };
            let stays = self.stays_until(tenant, &run_id, now).await?;
            of_chain = of_chain.max(stays.until());
            if let Stays::Ended(successor, _) = stays {
                next = self.continues_as(tenant, &successor).await?;
            }
        }
        Ok(Some(now.plus_ms(DAY_MS)))
    }

    async fn stays_until(&self, tenant: &Tenant, run_id: &str, now: UtcTime) -> Result<Stays> {
        let found = self.runs.find_kept(tenant, run_id).await?;
        let Some(found) = found.filter(|found| !found.is_mark()) else {
            return Ok(Stays::Gone);
        };
        let goes_at = found.goes_at();
        let Some(state) = self.read_state(found.record).await? else {
            return Err(Error::unavailable(format!(
                "the state of run {run_id} is not there"
            )));
        };
        match (state.is_closed(), goes_at) {
            (true, at) => Ok(Stays::Ended(Box::new(state), at.filter(|at| *at > now))),
            // An open run is checked again after a part of its retention.
            (false, _) => Ok(Stays::Open(
                now.plus_ms(self.runs.retention().runs_days * DAY_MS / 8),
            )),
        }
    }

    /// Returns the run that continues an ended one.
    async fn continues_as(&self, tenant: &Tenant, state: &RunState) -> Result<Option<String>> {
        if state.status != RunStatus::ContinuedAsNew {
            return Ok(None);
        }
        let last = match state.tail.last() {
            Some(last) => Some(last.clone()),
            None => self.event(tenant, &state.run_id, state.last_event).await?,
        };
        Ok(match last {
            Some(Event {
                kind: EventKind::WorkflowExecutionContinuedAsNew { new_run_id, .. },
                ..
            }) => Some(new_run_id),
            _ => None,
        })
    }
}

enum Stays {
    Gone,
    /// It is checked again at this time.
    Open(UtcTime),
    /// It has ended and is removed at this time; None if the time has come.
    Ended(Box<RunState>, Option<UtcTime>),
}

impl Stays {
    const fn until(&self) -> Option<UtcTime> {
        match self {
            Self::Gone => None,
            Self::Open(until) => Some(*until),
            Self::Ended(_, until) => *until,
        }
    }
}
