//! Sends signals to open runs.

use platform::{Error, Result, Tenant};

use super::Engine;
use crate::event::EventKind;
use crate::limits;
use crate::payload::Payload;
use crate::status::RunStatus;

impl Engine {
    /// Sends a signal. It is stored when this returns; the run reads it later. 409 if the run has ended or
    /// has too many unread signals.
    pub async fn signal(
        &self,
        tenant: &Tenant,
        run_id: &str,
        name: &str,
        input: &Payload,
        identity: &str,
    ) -> Result<()> {
        self.change_running(tenant, run_id, |draft| {
            if draft.state.signals >= limits::MAX_SIGNALS || draft.state.last_event >= limits::MAX_EVENTS {
                return Err(Error::conflict(format!(
                    "The run '{run_id}' has had as many signals as a run may have; it takes no more."
                )));
            }
            draft.append(EventKind::WorkflowExecutionSignaled {
                name: name.to_owned(),
                input: input.clone(),
                identity: identity.to_owned(),
            });
            Ok(())
        })
        .await
    }

    /// Returns the owner of a private run; None for a run that the project sees, and for one that does not
    /// exist.
    pub async fn private_to(&self, tenant: &Tenant, run_id: &str) -> Result<Option<String>> {
        let state = self.services.store.find(tenant, run_id).await?;
        Ok(state.and_then(|state| state.about.private_to().map(str::to_owned)))
    }

    /// Returns the run that continues a run; None if that has not ended, or ended without a continuation.
    pub async fn continues_as(&self, tenant: &Tenant, run_id: &str) -> Result<Option<String>> {
        let state = match self.services.store.find(tenant, run_id).await? {
            Some(state) if state.status == RunStatus::ContinuedAsNew => state,
            _ => return Ok(None),
        };
        let current = self
            .services
            .store
            .find_current(tenant, &state.workflow_id)
            .await?;
        Ok(current.filter(|current| current != run_id))
    }

    /// Returns whether a run has ended without a continuation, or does not exist.
    pub async fn is_over(&self, tenant: &Tenant, run_id: &str) -> Result<bool> {
        let state = self.services.store.find(tenant, run_id).await?;
        Ok(state.is_none_or(|state| state.is_closed()))
    }
}
