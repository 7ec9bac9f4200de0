//! Removes ended runs in steps, as `removal_plan` says: after its retention, a run stays as long as another
//! kept run names it.

use platform::objects::Objects;
use platform::{Error, Result, Tenant, UtcTime};

use crate::event::{Event, EventKind};
use crate::object_keys::{ELSEWHERE, UPDATE_DETAILS, payload_folder, state_folder};
use crate::records::UPDATE_RETENTION_DAYS;
use crate::removal_plan::{DAY_MS, may_have_objects};
use crate::state::RunState;
use crate::status::RunStatus;
use crate::store::Store as _;
use crate::table::TableStore;

/// Longest chain that one removal follows; a longer one waits for a day.
const MAX_HOPS: u32 = 100;
/// Retention of the details of updates in days: that of the updates, plus the days that DynamoDB takes to
/// expire them.
const UPDATE_DETAILS_DAYS: u64 = UPDATE_RETENTION_DAYS.unsigned_abs() + 7;

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
