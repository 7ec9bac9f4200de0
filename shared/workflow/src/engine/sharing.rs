//! What accounts share: threads and memory for turns and queries, and the drives of one run.
//!
//! Each turn and each query holds a whole history in memory. Hints come as fast as signals do, and drives of
//! one run that lose the race of their writes read the history again: so few of them work on one run at a
//! time, and the others come back later.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{Either, select};
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS, Permit};
use platform::queue::BoxFuture;
use platform::{Error, Result, Tenant};

use super::{Engine, Sleep};

/// Turns at a time. Most take less than a millisecond.
const MAX_TURNS: usize = 6;
/// How long a turn waits for others, in milliseconds. A hint that is not followed then comes again.
const TURN_PATIENCE_MS: u64 = 60_000;
/// Queries at a time, and how long one waits.
const MAX_QUERIES: usize = 4;
const QUERY_PATIENCE_MS: u64 = 10_000;
/// When a hint comes back at a run that enough drive, in milliseconds.
const COME_AGAIN_MS: u64 = 1_000;
/// Drives of one run at a time in this process: one that holds attempts, and a few that take in what comes
/// meanwhile.
const MAX_DRIVES: usize = 4;

/// What one process has for turns, queries and drives.
pub struct Sharing {
    turns: FairPermits,
    queries: FairPermits,
    drives: Arc<Mutex<HashMap<String, Drives>>>,
}

#[derive(Default)]
struct Drives {
    count: usize,
    /// Whether a hint is on its way that comes back later.
    is_hinted: bool,
}

/// Whether a run may be driven.
enum Entry {
    /// It may, until the place is dropped.
    Entered(Place),
    /// It is driven by enough, and a hint is to come back later.
    ComeAgain,
    /// It is driven by enough, and a hint will come back.
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
            // The queue bounds how many turns there are.
            turns: FairPermits::new(MAX_TURNS, usize::MAX),
            queries: FairPermits::new(MAX_QUERIES, MAX_WAITING_REQUESTS),
            drives: Arc::default(),
        }
    }
}

impl Sharing {
    pub(super) async fn turn(&self, tenant: &Tenant, sleep: &dyn Sleep) -> Result<Permit> {
        within(&self.turns, tenant, sleep.sleep(TURN_PATIENCE_MS)).await
    }

    pub(super) async fn query(&self, tenant: &Tenant, sleep: &dyn Sleep) -> Result<Permit> {
        within(&self.queries, tenant, sleep.sleep(QUERY_PATIENCE_MS)).await
    }

    fn enter(&self, run_id: &str) -> Entry {
        let mut drives = lock(&self.drives);
        let of_run = drives.entry(run_id.to_owned()).or_default();
        if of_run.count < MAX_DRIVES {
            of_run.count += 1;
            return Entry::Entered(Place {
                drives: Arc::clone(&self.drives),
                run_id: run_id.to_owned(),
            });
        }
        match std::mem::replace(&mut of_run.is_hinted, true) {
            true => Entry::Hinted,
            false => Entry::ComeAgain,
        }
    }

    /// The hint that was to come back is there.
    fn forget_hint(&self, run_id: &str) {
        if let Some(of_run) = lock(&self.drives).get_mut(run_id) {
            of_run.is_hinted = false;
        }
    }
}

impl Engine {
    /// A place among the drives of a run. None where enough drive it: then a hint comes back later.
    pub(super) async fn place_to_drive(&self, tenant: &Tenant, run_id: &str) -> Option<Place> {
        match self.sharing.enter(run_id) {
            Entry::Entered(place) => {
                self.sharing.forget_hint(run_id);
                Some(place)
            }
            Entry::Hinted => None,
            Entry::ComeAgain => {
                self.hint(tenant, run_id, COME_AGAIN_MS).await;
                None
            }
        }
    }
}

/// A permit; 503 where none comes in time.
async fn within(permits: &FairPermits, tenant: &Tenant, late: BoxFuture<'static, ()>) -> Result<Permit> {
    match select(pin!(permits.wait(tenant.account())), late).await {
        Either::Left((permit, _)) => permit,
        Either::Right(_) => Err(Error::unavailable("too many turns of the account wait")),
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut drives = lock(&self.drives);
        if let Some(of_run) = drives.get_mut(&self.run_id) {
            of_run.count -= 1;
            if of_run.count == 0 {
                drives.remove(&self.run_id);
            }
        }
    }
}

fn lock(drives: &Mutex<HashMap<String, Drives>>) -> MutexGuard<'_, HashMap<String, Drives>> {
    drives.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_drive_one_run_and_one_hint_comes_back() {
        let sharing = Sharing::default();
        let mut places = Vec::new();
        for _ in 0..MAX_DRIVES {
            match sharing.enter("a") {
                Entry::Entered(place) => places.push(place),
                _ => panic!("there is room"),
            }
        }
        assert!(matches!(sharing.enter("a"), Entry::ComeAgain));
        assert!(matches!(sharing.enter("a"), Entry::Hinted));
        assert!(matches!(sharing.enter("b"), Entry::Entered(_)));
        sharing.forget_hint("a");
        assert!(matches!(sharing.enter("a"), Entry::ComeAgain));
        places.pop();
        assert!(matches!(sharing.enter("a"), Entry::Entered(_)));
        drop(places);
        assert!(lock(&sharing.drives).is_empty());
    }
}
