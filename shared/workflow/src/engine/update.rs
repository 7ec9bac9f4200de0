//! Posts updates from outside of a run's code: from its activities and from the API.

use std::sync::Arc;

use platform::races::{RacePolicy, Races};
use platform::{Result, Tenant};

use super::Engine;
use crate::payload::Payload;
use crate::registry::Publish;
use crate::store::{Commit, Committed};
use crate::updates::UpdateMessage;

#[derive(Clone, Debug)]
pub struct PostedUpdate {
    pub kind: String,
    /// For people.
    pub message: String,
    /// For programs.
    pub details: Option<Payload>,
    /// Part of the run that the update is about.
    pub workstream_id: Option<String>,
}

impl Engine {
    /// Posts an update to the followers of a run, even of a closed one. 404 if the run does not exist.
    pub async fn post_update(&self, tenant: &Tenant, run_id: &str, update: &PostedUpdate) -> Result<()> {
        let started_at = self.get(tenant, run_id).await?.started_at;
        let mut races = Races::new(&RacePolicy::RUN, "the updates of a run");
        loop {
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
            self.lost(&mut races).await?;
        }
    }

    /// Returns the function with which an activity publishes updates.
    pub(super) fn publisher(&self, tenant: &Tenant, run_id: &str) -> Publish {
        let (engine, tenant, run_id) = (self.clone(), tenant.clone(), run_id.to_owned());
        Arc::new(move |update| {
            let (engine, tenant, run_id) = (engine.clone(), tenant.clone(), run_id.clone());
            Box::pin(async move {
                let mut message = UpdateMessage::from_new(update)?;
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
