//! Retries a write after another writer changed the record.

use std::time::Duration;

use platform::{Error, Result};
use rand::RngExt as _;

/// Lost races before the caller is told to repeat the request.
const MAX_LOSSES: u64 = 50;

/// Counts lost races, and pauses briefly after each.
#[derive(Default)]
pub struct Races {
    lost: u64,
}

impl Races {
    /// Counts a lost race. 503 after too many.
    pub async fn lost(&mut self) -> Result<()> {
        self.lost += 1;
        if self.lost > MAX_LOSSES {
            return Err(Error::unavailable("a record lost too many races"));
        }
        let pause_ms = rand::rng().random_range(0..5 * self.lost.min(20));
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        Ok(())
    }
}
