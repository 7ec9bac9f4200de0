//! Answers queries by a replay of the run's code, which writes nothing.

use std::sync::Arc;

use platform::{Error, ErrorKind, Result, Tenant};

use super::Engine;
use crate::payload::Payload;
use crate::turn_failure::TurnFailure;
use crate::turn_runner::Task;

impl Engine {
    /// Answers a query of an open or closed run. 404 if the code has no such query, 500 if the code fails.
    pub async fn query(&self, tenant: &Tenant, run_id: &str, name: &str) -> Result<Payload> {
        // Waits for the permit before it reads the history, which may be large.
        let _permit = self
            .sharing
            .query_permit(tenant, self.services.sleep.as_ref())
            .await?;
        let state = self.get(tenant, run_id).await?;
        let Some(code) = self.services.registry.find_workflow(&state.workflow_type) else {
            return Err(failed(&TurnFailure::unknown_type(&state.workflow_type)));
        };
        let mut history = self.history(tenant, &state).await?;
        self.fetch_all(&mut history, false).await?;
        let task = Task {
            code: Arc::clone(code),
            history: Arc::new(history),
            processed: state.processed,
            query: Some(name.to_owned()),
        };
        let turn = self
            .services
            .turn_runner
            .run(task)
            .await
            .map_err(|failure| failed(&failure))?;
        match turn.answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(failure)) => Err(failed(&failure)),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("Runs of type '{}' answer no query '{name}'.", state.workflow_type),
            )),
        }
    }
}

/// 500 with the failure's text, which the owner of the workflow may see.
fn failed(cause: &(impl std::error::Error + ToString)) -> Error {
    Error::new(ErrorKind::Internal, "The query failed in the workflow's code.")
        .with_details(cause.to_string())
}
