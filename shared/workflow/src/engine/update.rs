//! Posts updates from outside of a run's code: from its activities and from the API.

use std::sync::Arc;

use platform::races::{RacePolicy, Races};
use platform::{Result, Tenant};

use super::Engine;
use super::write::WriteOutcome;
use crate::registry::Publish;
use crate::store::Commit;
use crate::updates::UpdateMessage;

impl Engine {
    /// Posts an update, at the current time, to the followers of a run, even of a closed one. 404 if the run
    /// does not exist.
    pub async fn post_update(&self, tenant: &Tenant, run_id: &str, update: &UpdateMessage) -> Result<()> {
        let started_at = self.get(tenant, run_id).await?.started_at;
        let mut races = Races::new(&RacePolicy::RUN, "the updates of a run");
        loop {
            let updates = self.numbered_updates(tenant, (run_id, started_at), vec![update.clone()]);
            let commit = Commit {
                updates: Some(updates.await?),
                ..Commit::default()
            };
            if let WriteOutcome::Done(_) = self.write(tenant, commit).await? {
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
                let message = UpdateMessage::from_new(update)?;
                Ok(engine.post_update(&tenant, &run_id, &message).await?)
            })
        })
    }
}
