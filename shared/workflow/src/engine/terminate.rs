//! Ending a run at once: its code is not asked.

use platform::{Result, Tenant};

use super::Engine;
use crate::event::EventKind;

impl Engine {
    /// Ends a run. It has ended when this returns. 409 where it had before.
    pub async fn terminate(
        &self,
        tenant: &Tenant,
        run_id: &str,
        reason: Option<&str>,
        identity: &str,
    ) -> Result<()> {
        self.change_running(tenant, run_id, |draft| {
            draft.append(EventKind::WorkflowExecutionTerminated {
                reason: reason.map(str::to_owned),
                identity: identity.to_owned(),
            });
            Ok(())
        })
        .await
    }
}
