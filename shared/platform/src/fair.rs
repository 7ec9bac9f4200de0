//! Limits scarce work with permits that accounts share: each account has its own queue, and none holds more
//! than its share.
//!
//! This shares queries, imports, checks in the sandbox, turns and queries of runs, streams, and the requests
//! of the local runner.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// Default limit on the requests of one account that wait for a permit.
pub const MAX_WAITING_REQUESTS: usize = 64;

/// Permits for `max` concurrent pieces of work. Clones share them.
#[derive(Clone)]
pub struct FairPermits {
    inner: Arc<Inner>,
}

struct Inner {
    /// Maximum number of permits of one account.
    share: usize,
    /// Maximum number of waiting requests of one account; further ones are refused.
    max_waiting: usize,
    /// Maximum number of lent permits.
    max_lent: usize,
    state: Mutex<State>,
}

struct State {
    free: usize,
    next_id: u64,
    /// Ids of lent permits.
    lent: HashSet<u64>,
    /// Ids of permits that wait to be lent until fewer are, oldest first.
    to_lend: VecDeque<u64>,
    held: HashMap<Arc<str>, usize>,
    /// Waiting accounts, each once; the front is next.
    turns: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<oneshot::Sender<Permit>>>,
}

/// Permission for one piece of work; ends when dropped.
pub struct Permit {
    inner: Arc<Inner>,
    account: Arc<str>,
    id: u64,
}

impl Permit {
    /// Returns the account that holds the permit.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Lends the permit to the next account in turn while its work continues, because the work takes long and
    /// yields to any other. The account still holds the permit. Up to half of the permits can be lent; a
    /// further one is lent when an earlier one is dropped.
    pub fn lend(&self) {
        {
            let mut state = self.inner.lock();
            if state.lent.contains(&self.id) || state.to_lend.contains(&self.id) {
                return;
            }
            state.to_lend.push_back(self.id);
            state.lend_next(self.inner.max_lent);
        }
        self.inner.hand_out();
    }
}

impl FairPermits {
    /// Creates `max` permits. One account holds at most half of them, but can always hold one.
    pub fn new(max: usize, max_waiting: usize) -> Self {
        let max = max.max(1);
        let state = State {
            free: max,
            next_id: 0,
            lent: HashSet::new(),
            to_lend: VecDeque::new(),
            held: HashMap::new(),
            turns: VecDeque::new(),
            waiting: HashMap::new(),
        };
        Self {
            inner: Arc::new(Inner {
                share: max.div_ceil(2),
                max_waiting,
                max_lent: max / 2,
                state: Mutex::new(state),
            }),
        }
    }

    /// Acquires a permit for `account`. 503 where none becomes free within `patience`, or the account has too
    /// many waiting requests.
    pub async fn acquire(&self, account: &str, patience: Duration) -> Result<Permit> {
        tokio::time::timeout(patience, self.wait(account))
            .await
            .map_err(|_| Error::unavailable("no permit came in time"))?
    }

    /// Acquires a permit without a time limit.
    pub async fn wait(&self, account: &str) -> Result<Permit> {
        let mine = self.inner.enqueue(account)?;
        self.inner.hand_out();
        mine.await.map_err(Error::internal)
    }
}

impl Inner {
    fn enqueue(&self, account: &str) -> Result<oneshot::Receiver<Permit>> {
        let mut state = self.lock();
        let account: Arc<str> = account.into();
        let waiting = state.waiting.entry(Arc::clone(&account)).or_default();
        waiting.retain(|waiter| !waiter.is_closed());
        if waiting.len() >= self.max_waiting {
            return Err(Error::unavailable("too much of this account waits for a permit"));
        }
        let (waiter, mine) = oneshot::channel();
        waiting.push_back(waiter);
        if !state.turns.contains(&account) {
            state.turns.push_back(account);
        }
        Ok(mine)
    }

    /// Gives free permits to the next accounts in turn. A waiter that has gone away drops its permit, which
    /// frees it.
    fn hand_out(self: &Arc<Self>) {
        loop {
            let Some((waiter, account, id)) = self.lock().next(self.share) else {
                return;
            };
            let permit = Permit {
                inner: Arc::clone(self),
                account,
                id,
            };
            drop(waiter.send(permit));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Takes a free permit for the first account in turn that holds less than its share, and moves the
    /// account to the end.
    fn next(&mut self, share: usize) -> Option<(oneshot::Sender<Permit>, Arc<str>, u64)> {
        let Self { held, waiting, .. } = self;
        self.turns.retain(|account| {
            let waiters = waiting.entry(Arc::clone(account)).or_default();
            waiters.retain(|waiter| !waiter.is_closed());
            if waiters.is_empty() {
                waiting.remove(account);
                return false;
            }
            true
        });
        if self.free == 0 {
            return None;
        }
        let has_room = |account: &Arc<str>| held.get(account).is_none_or(|held| *held < share);
        let at = self.turns.iter().position(has_room)?;
        let account = self.turns.remove(at)?;
        let waiter = self.waiting.get_mut(&account)?.pop_front()?;
        self.turns.push_back(Arc::clone(&account));
        self.free -= 1;
        *self.held.entry(Arc::clone(&account)).or_default() += 1;
        self.next_id += 1;
        Some((waiter, account, self.next_id))
    }

    fn lend_next(&mut self, max_lent: usize) {
        if self.lent.len() < max_lent
            && let Some(id) = self.to_lend.pop_front()
        {
            self.lent.insert(id);
            self.free += 1;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        {
            let mut state = self.inner.lock();
            if state.lent.remove(&self.id) {
                state.lend_next(self.inner.max_lent);
            } else {
                state.to_lend.retain(|id| *id != self.id);
                state.free += 1;
            }
            match state.held.get_mut(&self.account) {
                Some(held) if *held > 1 => *held -= 1,
                _ => {
                    state.held.remove(&self.account);
                }
            }
        }
        self.inner.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    const LONG: Duration = Duration::from_secs(60);

    async fn acquire(permits: &FairPermits, account: &str) -> Permit {
        permits.acquire(account, LONG).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn one_account_never_holds_all() {
        let permits = FairPermits::new(4, 5);
        let _of_a = [acquire(&permits, "a").await, acquire(&permits, "a").await];
        let third = permits.acquire("a", Duration::from_secs(1)).await;
        assert_eq!(third.err().unwrap().status(), 503);
        let of_b = permits.acquire("b", LONG).now_or_never();
        assert!(of_b.is_some_and(|permit| permit.is_ok()));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_work_of_two_accounts_leaves_room_for_a_third() {
        let permits = FairPermits::new(4, 5);
        let mut slow = Vec::new();
        for account in ["a", "a", "b", "b"] {
            slow.push(acquire(&permits, account).await);
        }
        assert!(permits.acquire("c", Duration::from_secs(1)).await.is_err());
        for permit in &slow {
            permit.lend();
            permit.lend();
        }
        let of_c = [acquire(&permits, "c").await, acquire(&permits, "c").await];
        assert!(
            permits.acquire("a", Duration::from_secs(1)).await.is_err(),
            "it has its share"
        );
        assert!(
            permits.acquire("d", Duration::from_secs(1)).await.is_err(),
            "half are lent"
        );
        // The third slow permit is lent after the first one is dropped.
        slow.remove(0);
        let of_d = acquire(&permits, "d").await;
        drop((slow, of_c, of_d));
        let state = permits.inner.lock();
        assert_eq!((state.free, state.lent.len(), state.held.len()), (4, 0, 0));
        assert!(state.to_lend.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_take_turns() {
        let permits = FairPermits::new(2, 5);
        let first = acquire(&permits, "a").await;
        let other = acquire(&permits, "z").await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for account in ["a", "a", "a", "b", "c"] {
            let (permits, order) = (permits.clone(), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let permit = permits.acquire(account, LONG).await.unwrap();
                order.lock().push(account);
                tokio::time::sleep(Duration::from_millis(1)).await;
                drop(permit);
            }));
            tokio::task::yield_now().await;
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock(), ["a", "b", "c", "a", "a"]);
        drop(other);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_went_away_takes_no_permit() {
        let permits = FairPermits::new(1, 5);
        let held = acquire(&permits, "a").await;
        for _ in 0..3 {
            assert!(permits.acquire("a", Duration::from_millis(1)).await.is_err());
        }
        // Its permit is granted but never taken.
        let mut never_asked = Box::pin(permits.acquire("a", LONG));
        assert!(never_asked.as_mut().now_or_never().is_none());
        drop(held);
        drop(never_asked);
        acquire(&permits, "b").await;
        assert_eq!(permits.inner.lock().free, 1);
        assert!(permits.inner.lock().held.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_waits_with_so_many() {
        let permits = FairPermits::new(1, 5);
        let _held = acquire(&permits, "a").await;
        let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(permits.acquire("a", LONG))).collect();
        for waiter in &mut waiting {
            assert!(waiter.as_mut().now_or_never().is_none());
        }
        assert!(
            permits
                .acquire("a", LONG)
                .now_or_never()
                .is_some_and(|refused| refused.is_err())
        );
        assert!(permits.acquire("b", LONG).now_or_never().is_none());
    }
}
