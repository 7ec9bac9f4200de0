//! Stores large payloads in object storage and fetches them when needed.

use futures::stream::{self, TryStreamExt as _};
use platform::{Error, Result, Tenant};
use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::Engine;
use crate::draft::Draft;
use crate::event::Event;
use crate::limits;
use crate::object_keys::payload_folder;
use crate::payload::{CLAIM_CHECK_BYTES, Payload, StoredPayload};

/// Payloads that are stored or fetched concurrently.
const AT_ONCE: usize = 8;

impl Engine {
    /// Stores the large payloads of a change's new events. The key of a payload contains the hash of its
    /// content, so a repeated payload is stored once. A payload of another run, such as the input from a
    /// parent, is copied, because that run may be removed earlier.
    pub(super) async fn keep_payloads(&self, tenant: &Tenant, draft: &mut Draft) -> Result<()> {
        let folder = payload_folder(tenant, &draft.state.run_id);
        let first_new = draft.first_new;
        let new = draft.state.tail.iter_mut().filter(|event| event.id >= first_new);
        let mut payloads: Vec<_> = new.filter_map(|event| event.kind.payload_mut()).collect();
        // The outcome for the parent is the same payload again.
        if let Some(crate::event::ChildOutcome::Completed(result)) = &mut draft.state.outcome {
            payloads.push(result);
        }
        for payload in &mut payloads {
            if payload
                .stored()
                .is_some_and(|stored| !stored.key.starts_with(&folder))
            {
                self.fetch(payload).await?;
                self.keep(&folder, payload).await?;
            }
        }
        self.keep_large(&folder, payloads).await
    }

    /// Stores the large payloads of one commit; all but the small ones if they are large together.
    pub(super) async fn keep_large(&self, folder: &str, mut payloads: Vec<&mut Payload>) -> Result<()> {
        payloads.retain(|payload| payload.stored().is_none());
        let total: usize = payloads.iter().map(|payload| payload.bytes()).sum();
        let most = if total > limits::MAX_COMMIT_BYTES {
            limits::SMALL_PAYLOAD_BYTES
        } else {
            CLAIM_CHECK_BYTES
        };
        payloads.retain(|payload| payload.bytes() > most);
        stream::iter(payloads.into_iter().map(Ok))
            .try_for_each_concurrent(AT_ONCE, |payload| self.keep(folder, payload))
            .await
    }

    pub(super) async fn keep_if_larger(
        &self,
        tenant: &Tenant,
        run_id: &str,
        payload: &mut Payload,
        most: usize,
    ) -> Result<()> {
        if payload.stored().is_none() && payload.bytes() > most {
            self.keep(&payload_folder(tenant, run_id), payload).await?;
        }
        Ok(())
    }

    async fn keep(&self, folder: &str, payload: &mut Payload) -> Result<()> {
        let json = payload.json();
        let key = key_of(folder, json);
        self.services.store.put_payload(&key, json).await?;
        let bytes = json.len() as u64;
        payload.set_stored(StoredPayload { key, bytes });
        Ok(())
    }

    /// Removes the large input of a run that did not start and that no other attempt starts. A run that did
    /// start although its response was lost keeps its input.
    pub(super) async fn discard(&self, tenant: &Tenant, run_id: &str, input: &Payload) {
        let key = key_of(&payload_folder(tenant, run_id), input.json());
        let store = &self.services.store;
        let removed = match store.find(tenant, run_id).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => store.remove_payload(&key).await,
            Err(cause) => Err(cause),
        };
        if let Err(cause) = removed {
            warn!(run_id, %cause, "the input of a run that did not begin is left in the bucket");
        }
    }

    /// Fetches a payload if it is a reference.
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

    /// Fetches the payloads of events: those that workflow code receives, or all.
    pub async fn fetch_all(&self, events: &mut [Event], commands_too: bool) -> Result<()> {
        let payloads = events
            .iter_mut()
            .filter(|event| commands_too || event.kind.is_read_by_code())
            .filter_map(|event| event.kind.payload_mut())
            .filter(|payload| !payload.is_fetched());
        stream::iter(payloads.map(Ok))
            .try_for_each_concurrent(AT_ONCE, |payload| self.fetch(payload))
            .await
    }
}

fn key_of(folder: &str, json: &str) -> String {
    format!("{folder}{}", hex::encode(Sha256::digest(json.as_bytes())))
}
