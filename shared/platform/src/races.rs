//! Repeats changes that lost a race: another writer changed the record between the read and the write.
//!
//! The loop stays with its operation, which reads, changes and writes again:
//!
//! ```
//! # use platform::races::{RacePolicy, Races};
//! # async fn read() -> u64 { 1 }
//! # async fn write(_: u64) -> bool { true }
//! # async fn change() -> platform::Result<u64> {
//! let mut races = Races::new(&RacePolicy::RECORD, "a dashboard");
//! loop {
//!     let next = read().await + 1;
//!     if write(next).await {
//!         return Ok(next);
//!     }
//!     races.lost().await?;
//! }
//! # }
//! ```

use std::time::Duration;

use rand::RngExt as _;

use crate::error::{Error, Result};

/// Lost races after which the pauses no longer grow.
const MAX_STEPS: u32 = 20;

/// Number and length of the pauses after lost races.
#[derive(Debug)]
pub struct RacePolicy {
    /// Lost races after which the operation fails with 503.
    max_losses: u32,
    /// Longest pause after the first lost race, in milliseconds; after the n-th it is n times as long.
    step_ms: u64,
}

impl RacePolicy {
    /// One record, whose change takes a read and a write. With pauses of up to 100 ms, fewer than some
    /// hundred concurrent writers never reach the limit.
    pub const RECORD: Self = Self {
        max_losses: 200,
        step_ms: 5,
    };
    /// The head of a data store, whose change writes a manifest first.
    pub const STORE: Self = Self {
        max_losses: 50,
        step_ms: 10,
    };
    /// A run, which its worker writes often.
    pub const RUN: Self = Self {
        max_losses: 32,
        step_ms: 5,
    };
    /// The count of a project's entries, whose change is inside a request that creates an entry.
    pub const COUNT: Self = Self {
        max_losses: 6,
        step_ms: 5,
    };
}

/// Lost races of one operation.
#[derive(Debug)]
pub struct Races {
    policy: &'static RacePolicy,
    subject: &'static str,
    lost: u32,
}

impl Races {
    /// `subject` names the records in the log, such as `a dashboard`.
    pub const fn new(policy: &'static RacePolicy, subject: &'static str) -> Self {
        Self {
            policy,
            subject,
            lost: 0,
        }
    }

    /// Counts a lost race and pauses for a random time, so that several writers do not retry at the same
    /// time. 503 after too many.
    pub async fn lost(&mut self) -> Result<()> {
        let longest_ms = self.longest_pause_ms()?;
        let pause_ms = rand::rng().random_range(0..=longest_ms);
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        Ok(())
    }

    /// Counts a lost race and returns the longest pause after it, for callers with a clock of their own. 503
    /// after too many.
    pub fn longest_pause_ms(&mut self) -> Result<u64> {
        self.lost += 1;
        if self.lost >= self.policy.max_losses {
            return Err(Error::unavailable(format!(
                "{} lost too many races against other writers",
                self.subject
            )));
        }
        Ok(self.policy.step_ms * u64::from(self.lost.min(MAX_STEPS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_limit_and_end_with_503() {
        let mut races = Races::new(&RacePolicy::STORE, "a data store");
        let pauses: Vec<u64> = std::iter::from_fn(|| races.longest_pause_ms().ok()).collect();
        assert_eq!(pauses.len(), 49);
        assert_eq!(pauses[..3], [10, 20, 30]);
        assert!(pauses.is_sorted());
        assert_eq!(pauses.last(), Some(&200));

        let error = races.lost().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let mut races = Races::new(&RacePolicy::COUNT, "a count");
        let started = tokio::time::Instant::now();
        for _ in 0..5 {
            races.lost().await.unwrap();
        }
        assert!(started.elapsed() <= Duration::from_millis(5 + 10 + 15 + 20 + 25));
        races.lost().await.unwrap_err();
    }
}
