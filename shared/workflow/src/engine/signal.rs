//! Signals: something that a run is told while it goes on.

use platform::{Error, Result, Tenant};

use super::Engine;
use crate::event::EventKind;
use crate::limits;
use crate::payload::Payload;
use crate::status::RunStatus;

impl Engine {
    /// Tells a run something. It is in the history when this returns; when the run reads it is the run's affair. 409 where the
    /// run has ended or has had too many.
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
    /// The run that continues one; None where it has not ended, or ended for good.
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

    /// Whether a run has ended for good, or does not exist.
    pub async fn is_over(&self, tenant: &Tenant, run_id: &str) -> Result<bool> {
        let state = self.services.store.find(tenant, run_id).await?;
        Ok(state.is_none_or(|state| state.is_closed()))
    }
}
