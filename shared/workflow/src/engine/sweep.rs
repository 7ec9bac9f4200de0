//! Finding what nobody looks after: messages are lost, and processes die.

use futures::stream::{self, StreamExt as _};
use platform::records::runs::DueRun;
use platform::{Result, UtcTime};

use super::Engine;
use crate::draft::Draft;

/// Hints that are sent at a time.
const HINTS_AT_ONCE: usize = 16;

impl Engine {
    /// The runs that somebody should look at by a time.
    pub async fn due(&self, by: UtcTime) -> Result<Vec<DueRun>> {
        self.services.store.due(by, false).await
    }

    /// Sends a hint at each of these runs, held back until its time.
    pub async fn hint_all(&self, due: &[DueRun]) {
        let now = self.services.clock.now();
        let hints = due
            .iter()
            .map(|run| self.hint(&run.tenant, &run.run_id, run.due_at.millis_since(now)));
        stream::iter(hints)
            .for_each_concurrent(HINTS_AT_ONCE, |hint| hint)
            .await;
    }

    /// Takes over every open run of a process that has ended: its attempts are lost, and so are the messages that its queue
    /// held in memory. For the local runner's start, where no other process carries out runs.
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
                    draft.lose_wake();
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
