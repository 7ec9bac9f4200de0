//! Finding what nobody looks after: messages are lost, and processes die.

use platform::{Result, UtcTime};

use super::Engine;
use crate::draft::Draft;

impl Engine {
    /// Sends a hint for every run that somebody should look at by now, or within `ahead_ms` milliseconds: that one is held back until
    /// then. How many there were.
    pub async fn sweep(&self, ahead_ms: u64) -> Result<usize> {
        let now = self.services.clock.now();
        let due = self.services.store.due(now.plus_ms(ahead_ms), false).await?;
        for run in &due {
            self.hint(&run.tenant, &run.run_id, run.due_at.millis_since(now))
                .await;
        }
        Ok(due.len())
    }

    /// Takes up everything that is unfinished, as whoever alone carries out runs: what another process had begun, that process
    /// will not end. For the local runner's start.
    pub async fn take_over(&self) -> Result<usize> {
        let due = self
            .services
            .store
            .due(UtcTime::EPOCH.plus_ms(u64::MAX), true)
            .await?;
        for run in &due {
            let worker = &self.services.worker;
            let lost = self
                .change(&run.tenant, &run.run_id, |draft: &mut Draft| {
                    draft.lose_attempts(worker);
                    Ok(())
                })
                .await;
            if let Err(cause) = lost {
                tracing::warn!(run_id = run.run_id, %cause, "run not taken over");
            }
            self.hint(&run.tenant, &run.run_id, 0).await;
        }
        Ok(due.len())
    }
}
