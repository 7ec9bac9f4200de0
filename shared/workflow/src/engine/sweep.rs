//! Finding what nobody looks after: messages are lost, and processes die.

use futures::stream::{self, StreamExt as _};
use platform::records::runs::DueRun;
use platform::{Result, Tenant, UtcTime};

use super::Engine;
use crate::draft::Draft;
use crate::state::RunState;

/// No ended run is removed before, in milliseconds: a day.
const LEAST_KEPT_MS: u64 = 24 * 3_600_000;
/// Hints that are sent at a time.
const HINTS_AT_ONCE: usize = 16;
/// How often a run is taken over whose records are away; its attempts wait for their timeouts afterwards.
const TAKE_OVER_TRIES: u32 = 8;
/// Half the pause after the first try, in milliseconds; doubled after each.
const TAKE_OVER_PAUSE_MS: u64 = 50;

impl Engine {
    /// The runs that somebody should look at by a time.
    pub async fn due(&self, by: UtcTime) -> Result<Vec<DueRun>> {
        self.services.store.due(by, false).await
    }

    /// The ended runs that are to be removed by a time: a hint at one of them removes it.
    pub async fn removals(&self, by: UtcTime) -> Result<Vec<DueRun>> {
        self.services.store.removals(by).await
    }

    /// Removes a run whose time has come, or what is left of it.
    pub(super) async fn remove(&self, tenant: &Tenant, run_id: &str) -> Result<()> {
        let now = self.services.clock.now();
        self.services.store.remove(tenant, run_id, now).await
    }

    /// The same of a run that has ended long ago; nothing is read for another.
    pub(super) async fn remove_ended(&self, tenant: &Tenant, state: &RunState) -> Result<()> {
        let now = self.services.clock.now();
        match state.closed_at {
            Some(at) if at.plus_ms(LEAST_KEPT_MS) <= now => self.remove(tenant, &state.run_id).await,
            _ => Ok(()),
        }
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
        let count = due.len();
        let mut left = due;
        for attempt in 1..=TAKE_OVER_TRIES {
            let mut failed = Vec::new();
            for run in left {
                if let Err(cause) = self.take_over_run(&run).await {
                    tracing::warn!(run_id = run.run_id, attempt, %cause, "run not taken over");
                    failed.push(run);
                }
            }
            if failed.is_empty() {
                break;
            }
            self.services.sleep.sleep(TAKE_OVER_PAUSE_MS << attempt).await;
            left = failed;
        }
        Ok(count)
    }

    async fn take_over_run(&self, run: &DueRun) -> Result<()> {
        let worker = &self.services.worker;
        let taken = self.change(&run.tenant, &run.run_id, |draft: &mut Draft| {
            draft.lose_attempts(worker);
            draft.lose_wake();
            Ok(())
        });
        let taken = taken.await.map(drop);
        self.hint(&run.tenant, &run.run_id, 0).await;
        taken
    }
}
