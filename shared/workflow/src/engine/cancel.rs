//! Asking a run to stop: its code gets to clean up.

use platform::{Result, Tenant};

use super::Engine;
use crate::event::EventKind;

impl Engine {
    /// Asks a run to stop. It is in the history when this returns; a second time changes nothing. 409 where the run has ended.
    pub async fn cancel(
        &self,
        tenant: &Tenant,
        run_id: &str,
        reason: Option<&str>,
        identity: &str,
    ) -> Result<()> {
        self.change_running(tenant, run_id, |draft| {
            if !draft.state.cancel_requested {
                draft.append(EventKind::WorkflowExecutionCancelRequested {
                    reason: reason.map(str::to_owned),
                    identity: identity.to_owned(),
                });
            }
            Ok(())
        })
        .await
    }
}
