//! Terminates a run at once, without calling its code.

use platform::{Result, Tenant};

use super::{Caller, Engine};
use crate::event::EventKind;

impl Engine {
    /// Terminates a run; it has ended when this returns. 409 if it had ended before.
    pub async fn terminate(
        &self,
        tenant: &Tenant,
        run_id: &str,
        reason: Option<&str>,
        caller: impl Into<Caller<'_>>,
    ) -> Result<()> {
        let caller = caller.into();
        self.change_running(tenant, run_id, |draft| {
            caller.causes_events_of(&mut draft.state.about);
            draft.append(EventKind::WorkflowExecutionTerminated {
                reason: reason.map(str::to_owned),
                identity: caller.reference.to_owned(),
            });
            Ok(())
        })
        .await
    }
}
