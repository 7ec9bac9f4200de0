//! Requests the cancellation of a run, whose code may then clean up.

use platform::{Result, Tenant};

use super::{Caller, Engine};
use crate::event::EventKind;

impl Engine {
    /// Requests cancellation. The request is stored when this returns, and a repeated one changes nothing.
    /// 409 if the run has ended.
    pub async fn cancel(
        &self,
        tenant: &Tenant,
        run_id: &str,
        reason: Option<&str>,
        caller: impl Into<Caller<'_>>,
    ) -> Result<()> {
        let caller = caller.into();
        self.change_running(tenant, run_id, |draft| {
            if !draft.state.cancel_requested {
                caller.causes_events_of(&mut draft.state.about);
                draft.append(EventKind::WorkflowExecutionCancelRequested {
                    reason: reason.map(str::to_owned),
                    identity: caller.reference.to_owned(),
                });
            }
            Ok(())
        })
        .await
    }
}
