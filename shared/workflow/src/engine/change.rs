//! A change of one run by somebody who is not its worker: read, change, write, and from the beginning where somebody was faster.

use platform::{Error, Result, Tenant};

use super::Engine;
use super::write::{Change, Written};
use crate::draft::Draft;
use crate::state::RunState;

/// Times that a change is tried.
const MAX_ATTEMPTS: u64 = 32;
/// After how long a run is hinted at which others were hinted at before, in milliseconds: by then whoever goes on with it has mostly
/// written that he does.
const SECOND_HINT_MS: u64 = 1_000;

fn has_work(draft: &Draft) -> bool {
    draft.is_open() || !draft.state.outbox.is_empty()
}

impl Engine {
    /// Changes a run that goes on. 409 where it has ended.
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

    /// Changes a run, and hints at it where that gives it something to do. The state afterwards.
    pub(super) async fn change(
        &self,
        tenant: &Tenant,
        run_id: &str,
        change: impl Fn(&mut Draft) -> Result<()> + Send + Sync,
    ) -> Result<RunState> {
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                self.services.sleep.sleep(attempt * 5).await;
            }
            let state = self.get(tenant, run_id).await?;
            let mut draft = Draft::of(state, self.services.clock.now());
            let had_work = has_work(&draft);
            change(&mut draft)?;
            if !draft.changed {
                return Ok(draft.state);
            }
            let has_work = has_work(&draft);
            let written = Change {
                runs: vec![draft],
                ..Change::default()
            };
            if let Written::Done(states) = self.write(tenant, written).await?
                && let Some(state) = states.into_iter().next()
            {
                if has_work {
                    // Where somebody was hinted at it already and is about to write, a second one would do the same work.
                    let delay_ms = if had_work { SECOND_HINT_MS } else { 0 };
                    self.hint_at(&state, delay_ms).await;
                }
                return Ok(state);
            }
        }
        Err(Error::unavailable(format!(
            "run {run_id} is written by too many at once"
        )))
    }
}
