//! Posting update messages from outside of a run's code: from its activities.

use std::sync::Arc;

use platform::records::runs::Committed;
use platform::{Error, Result, Tenant};

use super::Engine;
use crate::payload::Payload;
use crate::registry::Publish;
use crate::store::Commit;
use crate::updates::UpdateMessage;

/// Times that a message is tried to be put after the others.
const MAX_ATTEMPTS: u64 = 32;

/// An update message to post.
#[derive(Clone, Debug)]
pub struct PostedUpdate {
    /// Its type.
    pub kind: String,
    /// For people.
    pub message: String,
    /// For code.
    pub details: Option<Payload>,
    /// Which part of the run it is about.
    pub workstream_id: Option<String>,
}

impl Engine {
    /// Posts an update message to those who follow a run, closed ones included: what is told of a run may come after it. 404 where
    /// there is no such run.
    pub async fn post_update(&self, tenant: &Tenant, run_id: &str, update: &PostedUpdate) -> Result<()> {
        let started_at = self.get(tenant, run_id).await?.started_at;
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                self.services.sleep.sleep(attempt * 5).await;
            }
            let message = UpdateMessage {
                timestamp: 0,
                kind: update.kind.clone(),
                message: update.message.clone(),
                details: update.details.clone(),
                workstream_id: update.workstream_id.clone(),
            };
            let commit = Commit {
                updates: Some(
                    self.numbered_updates(tenant, (run_id, started_at), vec![message])
                        .await?,
                ),
                ..Commit::default()
            };
            if self.services.store.commit(tenant, &commit).await? == Committed::Done {
                if let Some(listener) = &self.services.listener {
                    listener.changed(tenant, run_id);
                }
                return Ok(());
            }
        }
        Err(Error::unavailable(format!(
            "too many update messages at once for run {run_id}"
        )))
    }

    /// What an activity of the run publishes with.
    pub(super) fn publisher(&self, tenant: &Tenant, run_id: &str) -> Publish {
        let (engine, tenant, run_id) = (self.clone(), tenant.clone(), run_id.to_owned());
        Arc::new(move |update| {
            let (engine, tenant, run_id) = (engine.clone(), tenant.clone(), run_id.clone());
            Box::pin(async move {
                let mut message = UpdateMessage::of(update)?;
                message.shorten();
                let update = PostedUpdate {
                    kind: message.kind,
                    message: message.message,
                    details: message.details,
                    workstream_id: message.workstream_id,
                };
                Ok(engine.post_update(&tenant, &run_id, &update).await?)
            })
        })
    }
}
