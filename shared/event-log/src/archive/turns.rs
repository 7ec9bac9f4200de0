//! Shares the passes of a process between accounts.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use platform::{Error, Result};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore, SemaphorePermit};

/// Turns for passes, of which an account has one at a time. So an account with many logs waits for itself,
/// and is one of those that wait for the others.
pub(super) struct Turns {
    passes: Semaphore,
    /// Accounts with a turn, or waiting for one.
    accounts: Mutex<HashMap<String, Weak<AsyncMutex<()>>>>,
}

/// The right to make a pass, until it is dropped.
pub(super) struct Permit<'a> {
    _pass: SemaphorePermit<'a>,
    _account: OwnedMutexGuard<()>,
}

impl Turns {
    /// `most` passes at once.
    pub fn new(most: usize) -> Self {
        Self {
            passes: Semaphore::new(most),
            accounts: Mutex::default(),
        }
    }

    pub async fn take(&self, account: &str) -> Result<Permit<'_>> {
        let of_account = self.of_account(account).lock_owned().await;
        let pass = self.passes.acquire().await.map_err(Error::internal)?;
        Ok(Permit {
            _pass: pass,
            _account: of_account,
        })
    }

    fn of_account(&self, account: &str) -> Arc<AsyncMutex<()>> {
        let mut accounts = self.accounts.lock();
        if let Some(of_account) = accounts.get(account).and_then(Weak::upgrade) {
            return of_account;
        }
        accounts.retain(|_, of_account| of_account.strong_count() > 0);
        let of_account = Arc::new(AsyncMutex::new(()));
        accounts.insert(account.to_owned(), Arc::downgrade(&of_account));
        of_account
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn an_account_with_many_logs_has_one_turn_at_a_time() {
        let turns = Turns::new(2);
        let first = turns.take("greedy").now_or_never().unwrap().unwrap();
        let mut waiting: Vec<_> = (0..9).map(|_| Box::pin(turns.take("greedy"))).collect();
        assert!(
            waiting
                .iter_mut()
                .all(|turn| turn.as_mut().now_or_never().is_none())
        );
        let other = turns.take("other").now_or_never().unwrap().unwrap();
        // The third account takes the next turn before the second one of the first account.
        let mut third = Box::pin(turns.take("third"));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(
            waiting
                .iter_mut()
                .all(|turn| turn.as_mut().now_or_never().is_none())
        );
        let third = third.now_or_never().unwrap().unwrap();
        drop((other, third));
        let second = waiting.remove(0).now_or_never().unwrap().unwrap();
        drop((second, waiting));
        drop(turns.take("last").now_or_never().unwrap().unwrap());
        assert_eq!(turns.accounts.lock().len(), 1);
    }
}
