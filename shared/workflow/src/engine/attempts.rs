//! Tracks the attempts that one invocation of the worker holds, each with its state.
//!
//! ```text
//! claimed ──write succeeded──> running ──> ended ──write succeeded──> (removed)
//!    └──outcome of the write unknown──> unsure ──the stored run has it──> claimed
//! ```
//!
//! An attempt whose command is certain to be stored may run before that write: it goes from claimed to
//! running at once.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use futures::future::{Either, select};
use futures::stream::{FuturesUnordered, StreamExt as _};

use super::attempt::Finished;
use crate::payload::Payload;
use crate::pending::PendingActivity;
use crate::state::RunState;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttemptId {
    pub activity_id: String,
    pub attempt: u32,
}

/// An attempt that starts here, as the run's state has it after the start.
#[derive(Clone)]
pub(super) struct Claim {
    pub activity: PendingActivity,
    pub input: Payload,
}

enum State {
    /// Starts when the write that records the start succeeds.
    Claimed(Box<Claim>),
    /// The write that records the start may have happened. It would have changed this version of the run.
    Unsure { claim: Box<Claim>, version: u64 },
    /// `is_stored` becomes true once the activity's command is stored.
    Running { is_stored: Arc<AtomicBool> },
    /// The attempt has ended, and its result is not stored.
    Ended(Finished),
}

#[derive(Default)]
pub(super) struct Attempts {
    /// Ended attempts in the order of their ends. An id may be unsure several times, once per failed write.
    list: Vec<(AttemptId, State)>,
    futures: FuturesUnordered<BoxFuture<'static, Finished>>,
    /// Ended attempts that `collect` has not moved to the list yet.
    arrived: VecDeque<Finished>,
}

impl Attempts {
    /// Does `work` while the attempts run: their futures make progress only when polled.
    pub(super) async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        while !self.futures.is_empty() {
            match select(work.as_mut(), self.futures.next()).await {
                Either::Left((done, _)) => return done,
                Either::Right((finished, _)) => self.arrived.extend(finished),
            }
        }
        work.await
    }

    /// Waits until all attempts have ended, or until `timeout`.
    pub(super) async fn all_ended(&mut self, mut timeout: BoxFuture<'static, ()>) {
        while !self.futures.is_empty() {
            match select(self.futures.next(), timeout).await {
                Either::Left((finished, left)) => {
                    self.arrived.extend(finished);
                    timeout = left;
                }
                Either::Right(_) => return,
            }
        }
    }

    /// Waits until one more attempt has ended. Returns false if none runs.
    pub(super) async fn one_ended(&mut self) -> bool {
        match self.futures.next().await {
            Some(finished) => {
                self.arrived.push_back(finished);
                true
            }
            None => false,
        }
    }

    /// Moves attempts that have ended since the last call to the state `Ended`.
    pub(super) fn collect(&mut self) {
        while let Some(finished) = self.arrived.pop_front() {
            let id = AttemptId {
                activity_id: finished.activity_id.clone(),
                attempt: finished.attempt,
            };
            self.list
                .retain(|(other, state)| *other != id || !matches!(state, State::Running { .. }));
            self.list.push((id, State::Ended(finished)));
        }
    }

    pub(super) fn have_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    pub(super) fn are_running(&self) -> bool {
        !self.futures.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the results in the order of the ends.
    pub(super) fn results(&self) -> Vec<Finished> {
        let results = self.list.iter().filter_map(|(_, state)| match state {
            State::Ended(finished) => Some(finished.clone()),
            _ => None,
        });
        results.collect()
    }

    pub(super) fn is_held(&self, id: &AttemptId) -> bool {
        self.held().any(|other| other == id)
    }

    /// Returns the number of attempts that are claimed or running.
    pub(super) fn held_count(&self) -> usize {
        self.held().count()
    }

    fn held(&self) -> impl Iterator<Item = &AttemptId> {
        let held = self
            .list
            .iter()
            .filter(|(_, state)| matches!(state, State::Claimed(_) | State::Running { .. }));
        held.map(|(id, _)| id)
    }

    pub(super) fn claim(&mut self, id: AttemptId, claim: Claim) {
        self.list.push((id, State::Claimed(Box::new(claim))));
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.list.iter().filter_map(|(_, state)| match state {
            State::Claimed(claim) => Some(&**claim),
            _ => None,
        })
    }

    /// Starts the claimed attempts with `start`, which receives the flag of the state `Running`. If the
    /// claims are stored, `stored` is the run's state; claims that it no longer waits for are dropped.
    pub(super) fn start_claimed(
        &mut self,
        stored: Option<&RunState>,
        start: impl Fn(Claim, Arc<AtomicBool>) -> BoxFuture<'static, Finished>,
    ) {
        for (id, state) in std::mem::take(&mut self.list) {
            let State::Claimed(claim) = state else {
                self.list.push((id, state));
                continue;
            };
            if stored.is_none_or(|run| is_started(run, &id, &claim)) {
                let is_stored = Arc::new(AtomicBool::new(stored.is_some()));
                self.futures.push(start(*claim, Arc::clone(&is_stored)));
                self.list.push((id, State::Running { is_stored }));
            }
        }
    }

    /// Drops the claims of a write that did not happen.
    pub(super) fn drop_claims(&mut self) {
        self.list.retain(|(_, state)| !matches!(state, State::Claimed(_)));
    }

    /// Keeps the claims of a write with an unknown outcome, which would have changed this version.
    pub(super) fn doubt_claims(&mut self, version: u64) {
        for (id, state) in std::mem::take(&mut self.list) {
            let state = match state {
                State::Claimed(claim) => State::Unsure { claim, version },
                other => other,
            };
            self.list.push((id, state));
        }
    }

    /// Compares the attempts with a stored state: marks the commands that are stored, and claims the unsure
    /// attempts whose write succeeded. While the run still has the version that the write would have changed,
    /// the write may succeed later.
    pub(super) fn compare(&mut self, run: &RunState) {
        for (id, state) in std::mem::take(&mut self.list) {
            let state = match state {
                State::Running { is_stored } => {
                    if !is_stored.load(Ordering::SeqCst) {
                        is_stored.store(run.activity(&id.activity_id).is_some(), Ordering::SeqCst);
                    }
                    State::Running { is_stored }
                }
                State::Unsure { claim, .. } if is_started(run, &id, &claim) => State::Claimed(claim),
                State::Unsure { version, .. } if run.version != version => continue,
                other => other,
            };
            self.list.push((id, state));
        }
    }

    /// Records that a write succeeded. It stored all results and commands, also those of cancelled attempts,
    /// and no earlier write of this drive can succeed any more.
    pub(super) fn confirm(&mut self) {
        self.list.retain(|(_, state)| {
            if let State::Running { is_stored } = state {
                is_stored.store(true, Ordering::SeqCst);
            }
            !matches!(state, State::Ended(_) | State::Unsure { .. })
        });
    }

    /// Cancels all attempts: their run has ended.
    pub(super) fn cancel(&mut self) {
        *self = Self::default();
    }
}

/// Returns whether the stored state has exactly this attempt as started by this drive.
fn is_started(run: &RunState, id: &AttemptId, claim: &Claim) -> bool {
    run.activity(&id.activity_id).is_some_and(|(_, activity)| {
        activity.attempt == id.attempt
            && activity.worker == claim.activity.worker
            && activity.started_at == claim.activity.started_at
    })
}
