//! What messages carry: where to look, never what to do.

use std::time::Duration;

use platform::queue::Delivery;
use platform::{Result, Tenant};
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::Engine;
use crate::state::RunState;

/// Says that somebody should look at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// Its account.
    pub account: String,
    /// Its project.
    pub project: String,
    /// The run.
    pub run_id: String,
}

impl Hint {
    /// Whose run it is.
    pub fn tenant(&self) -> Result<Tenant> {
        Tenant::new(&self.account, &self.project)
    }
}

impl Engine {
    /// Sends a hint. One that cannot be sent is as one that was lost: the run is found by its time.
    pub(crate) async fn hint(&self, tenant: &Tenant, run_id: &str, delay_ms: u64) {
        self.hint_as(tenant, run_id, tenant.account(), delay_ms).await;
    }

    /// The same of a group: those of one that sends many do not hold up the others.
    async fn hint_as(&self, tenant: &Tenant, run_id: &str, group: &str, delay_ms: u64) {
        let hint = Hint {
            account: tenant.account().to_owned(),
            project: tenant.project().to_owned(),
            run_id: run_id.to_owned(),
        };
        let body = serde_json::to_string(&hint).unwrap_or_default();
        let delivery = Delivery {
            delay: Duration::from_millis(delay_ms),
            group: Some(group),
            account: Some(tenant.account()),
        };
        if let Err(cause) = self.services.queue.send_as(&body, delivery).await {
            warn!(account = tenant.account(), project = tenant.project(), run_id, %cause, "hint not sent");
        }
    }

    /// The same for a run whose state is at hand. The runs of one subscription are a group of their own: its receiver may be slow.
    pub(crate) async fn hint_at(&self, state: &RunState, delay_ms: u64) {
        let group = state.about.rule_id.as_deref().unwrap_or(&state.account);
        match Tenant::new(&state.account, &state.project) {
            Ok(tenant) => self.hint_as(&tenant, &state.run_id, group, delay_ms).await,
            Err(cause) => warn!(run_id = state.run_id, %cause, "hint not sent"),
        }
    }
}
