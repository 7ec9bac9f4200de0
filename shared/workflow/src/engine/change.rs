//! Changes one run from outside of its worker: reads, changes and writes it, and repeats this if another
//! writer was faster.

use platform::races::{RacePolicy, Races};
use platform::{Error, Result, Tenant};

use super::Engine;
use super::write::WriteOutcome;
use crate::draft::Draft;
use crate::state::RunState;
use crate::store::Commit;

/// Delay of a hint at a run that already had work, in milliseconds. By then the worker of the earlier hint
/// has mostly stored that work.
const SECOND_HINT_MS: u64 = 1_000;

fn has_work(draft: &Draft) -> bool {
    draft.is_open() || !draft.state.outbox.is_empty()
}

impl Engine {
    /// Changes an open run. 409 if it has ended.
    pub(super) async fn change_running(
        &self,
        tenant: &Tenant,
        run_id: &str,
        change: impl Fn(&mut Draft) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let changed = self.change(tenant, run_id, |draft| {
            if draft.state.is_closed() {
                let status = draft.state.status.as_str();
                return Err(Error::conflict(format!(
                    "The run '{run_id}' has ended; it is {status}."
                )));
            }
            change(draft)
        });
        changed.await.map(drop)
    }

    /// Changes a run, and sends a hint if the change gives it work. Returns the new state.
    pub(super) async fn change(
        &self,
        tenant: &Tenant,
        run_id: &str,
        change: impl Fn(&mut Draft) -> Result<()> + Send + Sync,
    ) -> Result<RunState> {
        let mut races = Races::new(&RacePolicy::RUN, "a run");
        loop {
            let state = self.get(tenant, run_id).await?;
            let mut draft = Draft::from_state(state, self.services.clock.now());
            let had_work = has_work(&draft);
            change(&mut draft)?;
            if !draft.changed {
                return Ok(draft.state);
            }
            let has_work = has_work(&draft);
            let commit = Commit {
                runs: vec![draft],
                ..Commit::default()
            };
            if let WriteOutcome::Done(states) = self.write(tenant, commit).await?
                && let Some(state) = states.into_iter().next()
            {
                if has_work {
                    // A worker that has a hint and is about to write would otherwise do the same work twice.
                    let delay_ms = if had_work { SECOND_HINT_MS } else { 0 };
                    self.hint_at(tenant, &state, delay_ms).await;
                }
                return Ok(state);
            }
            self.lost(&mut races).await?;
        }
    }

    /// Counts a lost race and pauses on the engine's clock. 503 after too many.
    pub(super) async fn lost(&self, races: &mut Races) -> Result<()> {
        let pause_ms = races.longest_pause_ms()?;
        self.services.sleep.sleep(pause_ms).await;
        Ok(())
    }
}
