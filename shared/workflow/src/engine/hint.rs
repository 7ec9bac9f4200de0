//! Sends hints: queue messages that name a run to drive and hold no state.

use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use platform::Tenant;
use platform::queue::{Delivery, Priority};
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::Engine;
use crate::records::DueRun;
use crate::state::RunState;

/// Hints of one request; SQS takes ten.
const HINTS_OF_REQUEST: usize = 10;
/// Requests that are sent concurrently, when many runs are due.
const REQUESTS_AT_ONCE: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    #[serde(flatten)]
    pub tenant: Tenant,
    pub run_id: String,
}

impl Engine {
    /// Sends a hint at a run that was not read, in the group of its account. A failure counts as a lost hint:
    /// the sweeper finds the run when it is due.
    pub(crate) async fn hint(&self, tenant: &Tenant, run_id: &str, delay_ms: u64) {
        let delivery = delivery(tenant, tenant.account(), Priority::Normal, delay_ms);
        self.hint_as(tenant, run_id, delivery).await;
    }

    async fn hint_as(&self, tenant: &Tenant, run_id: &str, delivery: Delivery<'_>) {
        if let Err(cause) = self.services.queue.send_as(&body(tenant, run_id), delivery).await {
            warn!(account = tenant.account(), project = tenant.project(), run_id, %cause, "hint not sent");
        }
    }

    /// Sends a hint at each run, delayed until the run is due.
    pub async fn hint_all(&self, due: &[DueRun]) {
        let now = self.services.clock.now();
        stream::iter(due.chunks(HINTS_OF_REQUEST))
            .for_each_concurrent(REQUESTS_AT_ONCE, |runs| async move {
                let hints: Vec<_> = runs
                    .iter()
                    .map(|run| {
                        let delay_ms = run.due_at.millis_since(now);
                        (
                            body(&run.tenant, &run.run_id),
                            delivery(&run.tenant, run.tenant.account(), run.priority, delay_ms),
                        )
                    })
                    .collect();
                if let Err(cause) = self.services.queue.send_all(&hints).await {
                    warn!(runs = runs.len(), %cause, "hints not sent");
                }
            })
            .await;
    }

    /// Sends a hint at a run whose state is known. The runs of one subscription form a group, because its
    /// receiver may be slow.
    pub(crate) async fn hint_at(&self, tenant: &Tenant, state: &RunState, delay_ms: u64) {
        let group = state.about.rule_id.as_deref().unwrap_or(tenant.account());
        let delivery = delivery(tenant, group, state.about.priority, delay_ms);
        self.hint_as(tenant, &state.run_id, delivery).await;
    }
}

fn body(tenant: &Tenant, run_id: &str) -> String {
    let hint = Hint {
        tenant: tenant.clone(),
        run_id: run_id.to_owned(),
    };
    serde_json::to_string(&hint).unwrap_or_default()
}

/// A group of the fair queue with many hints does not delay the others.
fn delivery<'a>(tenant: &'a Tenant, group: &'a str, priority: Priority, delay_ms: u64) -> Delivery<'a> {
    Delivery {
        delay: Duration::from_millis(delay_ms),
        group: Some(group),
        account: Some(tenant.account()),
        project: Some(tenant.project()),
        priority,
    }
}
