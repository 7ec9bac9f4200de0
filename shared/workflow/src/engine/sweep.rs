//! Finds due runs. A run is due if its hint was lost, or if the deadline of an attempt has passed
//! because its worker died; [`Draft::pass_time`] ends such an attempt.

use platform::{Result, Tenant, UtcTime};

use super::Engine;
use crate::draft::Draft;
use crate::records::DueRun;
use crate::state::RunState;

/// Minimum age of an ended run that is removed, in milliseconds: one day.
const LEAST_KEPT_MS: u64 = 24 * 3_600_000;
/// Attempts to take over a run while the record store fails. After them its attempts run into their timeouts.
const TAKE_OVER_TRIES: u32 = 8;
/// The pause after the n-th attempt is this multiplied by 2^n, in milliseconds.
const TAKE_OVER_PAUSE_MS: u64 = 50;

impl Engine {
    /// Returns the runs that are due by a time.
    pub async fn due(&self, by: UtcTime) -> Result<Vec<DueRun>> {
        self.services.store.due(by, false).await
    }

    /// Returns the ended runs to remove by a time; a hint at a run removes it.
    pub async fn removals(&self, by: UtcTime) -> Result<Vec<DueRun>> {
        self.services.store.removals(by).await
    }

    /// Removes a run whose retention has ended, or the rest of it.
    pub(super) async fn remove(&self, tenant: &Tenant, run_id: &str) -> Result<()> {
        let now = self.services.clock.now();
        self.services.store.remove(tenant, run_id, now).await
    }

    /// Removes an ended run if its retention has ended. Reads nothing otherwise.
    pub(super) async fn remove_ended(&self, tenant: &Tenant, state: &RunState) -> Result<()> {
        let now = self.services.clock.now();
        match state.closed_at {
            Some(at) if at.plus_ms(LEAST_KEPT_MS) <= now => self.remove(tenant, &state.run_id).await,
            _ => Ok(()),
        }
    }

    /// Takes over every open run of an ended process, whose attempts and in-memory queue are lost. Only for
    /// the start of the local runner, where no other process drives runs.
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
