//! Large payloads, kept beside the records and fetched when they are needed.

use futures::stream::{self, TryStreamExt as _};
use platform::{Error, Result, Tenant};
use sha2::{Digest as _, Sha256};

use super::Engine;
use crate::draft::Draft;
use crate::event::Event;
use crate::limits;
use crate::payload::{CLAIM_CHECK_BYTES, Payload, StoredPayload};

/// Payloads that are fetched at a time.
const FETCHED_AT_ONCE: usize = 8;

impl Engine {
    /// Keeps the large payloads of a change's new events elsewhere. A payload's place is named by its content, so that one
    /// which is kept twice is kept once.
    pub(super) async fn keep_payloads(&self, tenant: &Tenant, draft: &mut Draft) -> Result<()> {
        let size = |event: &Event| {
            let mut event = event.clone();
            event.kind.payload_mut().map_or(0, |payload| payload.json().len())
        };
        let new = draft.new_events();
        let total: usize = new.iter().map(size).sum();
        let most = if total > limits::MAX_COMMIT_BYTES {
            1_024
        } else {
            CLAIM_CHECK_BYTES
        };
        if total <= most {
            return Ok(());
        }
        let first_new = draft.first_new;
        let run_id = draft.state.run_id.clone();
        for event in draft.state.tail.iter_mut().filter(|event| event.id >= first_new) {
            if let Some(payload) = event.kind.payload_mut()
                && payload.stored().is_none()
                && payload.json().len() > most
            {
                self.keep(tenant, &run_id, payload).await?;
            }
        }
        // What a parent is told is the same payload once more.
        if let Some(crate::event::ChildOutcome::Completed(result)) = &mut draft.state.outcome
            && result.stored().is_none()
            && result.json().len() > most
        {
            self.keep(tenant, &run_id, result).await?;
        }
        Ok(())
    }

    async fn keep(&self, tenant: &Tenant, run_id: &str, payload: &mut Payload) -> Result<()> {
        let json = payload.json();
        let digest = hex::encode(Sha256::digest(json.as_bytes()));
        let key = format!(
            "payloads/{}/{}/{run_id}/{digest}",
            tenant.account(),
            tenant.project()
        );
        self.services.store.put_payload(&key, json).await?;
        let bytes = json.len() as u64;
        payload.set_stored(StoredPayload { key, bytes });
        Ok(())
    }

    /// Keeps a payload elsewhere if it is large.
    pub(super) async fn keep_if_large(
        &self,
        tenant: &Tenant,
        run_id: &str,
        payload: &mut Payload,
    ) -> Result<()> {
        if payload.stored().is_none() && payload.json().len() > CLAIM_CHECK_BYTES {
            self.keep(tenant, run_id, payload).await?;
        }
        Ok(())
    }

    /// Fetches a payload that is kept elsewhere.
    pub async fn fetch(&self, payload: &mut Payload) -> Result<()> {
        let Some(key) = payload
            .stored()
            .filter(|_| !payload.is_fetched())
            .map(|stored| stored.key.clone())
        else {
            return Ok(());
        };
        let found = self.services.store.find_payload(&key).await?;
        let raw = found.ok_or_else(|| Error::internal(format!("the payload {key} is gone")))?;
        payload.set_fetched(raw);
        Ok(())
    }

    /// Fetches the payloads of events: those that code is told of, or all.
    pub async fn fetch_all(&self, events: &mut [Event], commands_too: bool) -> Result<()> {
        let payloads = events
            .iter_mut()
            .filter(|event| commands_too || !event.kind.is_command())
            .filter_map(|event| event.kind.payload_mut())
            .filter(|payload| !payload.is_fetched());
        stream::iter(payloads.map(Ok))
            .try_for_each_concurrent(FETCHED_AT_ONCE, |payload| self.fetch(payload))
            .await
    }
}
