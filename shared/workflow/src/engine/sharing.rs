//! Shares turns and queries fairly between accounts, and limits the drives of one run.
//!
//! Each turn and each query holds a whole history in memory. Hints arrive as fast as signals do, and a drive
//! that loses the race of its write reads the history again. So only a few drives work on one run at a time;
//! further hints are merged into one delayed hint.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::future::{Either, select};
use parking_lot::{Mutex, MutexGuard};
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS, Permit};
use platform::{Error, Result, Tenant, UtcTime};

use super::{Engine, Sleep};

/// Concurrent turns. Most take less than a millisecond.
const MAX_TURNS: usize = 6;
/// Longest wait of a turn, in milliseconds. After it the queue delivers the hint again.
const TURN_PATIENCE_MS: u64 = 60_000;
const MAX_QUERIES: usize = 4;
/// Longest wait of a query, in milliseconds.
const QUERY_PATIENCE_MS: u64 = 10_000;
/// Delay of a hint at a run that has all of its drives, in milliseconds.
const COME_AGAIN_MS: u64 = 1_000;
/// Time after a delayed hint in which further hints are dropped, in milliseconds. Shorter than the delay, so
/// it has passed when the delayed hint arrives.
const QUIET_MS: u64 = COME_AGAIN_MS / 2;
/// Concurrent drives of one run in this process. A drive that waits for its attempts does not count.
const MAX_DRIVES: usize = 4;

pub struct Sharing {
    turns: FairPermits,
    queries: FairPermits,
    drives: Arc<Mutex<HashMap<String, Drives>>>,
}

#[derive(Default)]
struct Drives {
    count: usize,
    /// A delayed hint is certainly queued until then.
    quiet_until: Option<UtcTime>,
}

enum Entry {
    /// The run may be driven until the place is dropped.
    Entered(Place),
    /// The run has all of its drives; the caller sends the delayed hint.
    ComeAgain,
    /// The run has all of its drives, and the delayed hint is sent.
    Hinted,
}

/// A place among the drives of a run.
pub struct Place {
    drives: Arc<Mutex<HashMap<String, Drives>>>,
    run_id: String,
}

impl Default for Sharing {
    fn default() -> Self {
        Self {
            // The queue limits the number of waiting turns.
            turns: FairPermits::new(MAX_TURNS, usize::MAX),
            queries: FairPermits::new(MAX_QUERIES, MAX_WAITING_REQUESTS),
            drives: Arc::default(),
        }
    }
}

impl Sharing {
    pub(super) async fn turn_permit(&self, tenant: &Tenant, sleep: &dyn Sleep) -> Result<Permit> {
        within(&self.turns, tenant, sleep.sleep(TURN_PATIENCE_MS)).await
    }

    pub(super) async fn query_permit(&self, tenant: &Tenant, sleep: &dyn Sleep) -> Result<Permit> {
        within(&self.queries, tenant, sleep.sleep(QUERY_PATIENCE_MS)).await
    }

    fn enter(&self, run_id: &str, now: UtcTime) -> Entry {
        let mut drives = lock(&self.drives);
        let of_run = drives.entry(run_id.to_owned()).or_default();
        if of_run.count < MAX_DRIVES {
            of_run.count += 1;
            return Entry::Entered(Place {
                drives: Arc::clone(&self.drives),
                run_id: run_id.to_owned(),
            });
        }
        if of_run.quiet_until.is_some_and(|until| now < until) {
            return Entry::Hinted;
        }
        of_run.quiet_until = Some(now.plus_ms(QUIET_MS));
        Entry::ComeAgain
    }
}

impl Engine {
    /// Returns a place among the drives of a run, or None if all are taken and a delayed hint was sent.
    pub(super) async fn place_to_drive(&self, tenant: &Tenant, run_id: &str) -> Option<Place> {
        match self.sharing.enter(run_id, self.services.clock.now()) {
            Entry::Entered(place) => Some(place),
            Entry::Hinted => None,
            Entry::ComeAgain => {
                self.hint(tenant, run_id, COME_AGAIN_MS).await;
                None
            }
        }
    }
}

/// Waits for a permit; 503 if none is free before `late`.
async fn within(permits: &FairPermits, tenant: &Tenant, late: BoxFuture<'static, ()>) -> Result<Permit> {
    match select(pin!(permits.wait(tenant.account())), late).await {
        Either::Left((permit, _)) => permit,
        Either::Right(_) => Err(Error::unavailable("too many turns of the account wait")),
    }
}

impl Place {
    /// Frees the place until the guard is dropped. The guard takes the place back even if the run has all of
    /// its drives, because a drive must store the results of its attempts.
    pub(super) fn rest(&self) -> Rest<'_> {
        self.leave();
        Rest(self)
    }

    fn leave(&self) {
        let mut drives = lock(&self.drives);
        if let Some(of_run) = drives.get_mut(&self.run_id) {
            of_run.count -= 1;
            if of_run.count == 0 {
                drives.remove(&self.run_id);
            }
        }
    }
}

pub(super) struct Rest<'a>(&'a Place);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        let mut drives = lock(&self.0.drives);
        drives.entry(self.0.run_id.clone()).or_default().count += 1;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

fn lock(drives: &Mutex<HashMap<String, Drives>>) -> MutexGuard<'_, HashMap<String, Drives>> {
    drives.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_drive_one_run_and_one_hint_comes_back() {
        let sharing = Sharing::default();
        let now = UtcTime::from_millis(1_000_000).unwrap();
        let later = now.plus_ms(QUIET_MS);
        let mut places = Vec::new();
        for _ in 0..MAX_DRIVES {
            match sharing.enter("a", now) {
                Entry::Entered(place) => places.push(place),
                _ => panic!("there is room"),
            }
        }
        assert!(matches!(sharing.enter("a", now), Entry::ComeAgain));
        assert!(matches!(sharing.enter("a", now), Entry::Hinted));
        assert!(matches!(sharing.enter("b", now), Entry::Entered(_)));
        // The delayed hint has arrived or was lost, so the next one is sent.
        assert!(matches!(sharing.enter("a", later), Entry::ComeAgain));
        assert!(matches!(sharing.enter("a", later), Entry::Hinted));
        places.pop();
        assert!(matches!(sharing.enter("a", later), Entry::Entered(_)));
        // Drives that wait for their attempts do not count.
        places.extend(match sharing.enter("a", later) {
            Entry::Entered(place) => Some(place),
            _ => None,
        });
        let resting: Vec<_> = places.iter().map(Place::rest).collect();
        assert!(matches!(sharing.enter("a", later), Entry::Entered(_)));
        drop(resting);
        assert!(matches!(sharing.enter("a", later), Entry::ComeAgain));
        drop(places);
        assert!(lock(&sharing.drives).is_empty());
    }
}
