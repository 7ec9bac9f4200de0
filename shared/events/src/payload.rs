//! Stores large details, such as the body of an external sender, in the bucket, and restores them where an
//! event is read.

use platform::objects::Objects;
use platform::{Error, Result, Tenant};
use sha2::{Digest as _, Sha256};

use crate::envelope::Envelope;
use crate::records::events::EventRecord;

/// Details above this size go to the bucket: a record holds 400 KB and a message on the bus 256 KB.
const MAX_INLINE_BYTES: usize = 100_000;

/// Returns the key in the bucket of an event's details, or of a batch's events.
pub(crate) fn key(tenant: &Tenant, id: &str) -> String {
    // Another service may use any characters in its event ids.
    let name = hex::encode(Sha256::digest(id.as_bytes()));
    format!("payloads/{}/{}/events/{name}", tenant.account(), tenant.project())
}

/// Moves large details from an envelope to the bucket; returns their key.
pub async fn keep(objects: &Objects, tenant: &Tenant, envelope: &mut Envelope) -> Result<Option<String>> {
    let bytes: usize = envelope.details.values().map(|value| value.get().len()).sum();
    if bytes <= MAX_INLINE_BYTES {
        return Ok(None);
    }
    let details = std::mem::take(&mut envelope.details);
    let text = serde_json::to_vec(&details).map_err(Error::internal)?;
    let key = key(tenant, &envelope.event_id);
    objects.put(&key, text).await?;
    Ok(Some(key))
}

/// Restores the whole envelope of a record.
pub async fn whole(objects: &Objects, record: &EventRecord) -> Result<Envelope> {
    restored(record, details(objects, record).await?.as_deref())
}

/// Reads the details of a record from the bucket, as JSON; None where they are in its envelope.
pub async fn details(objects: &Objects, record: &EventRecord) -> Result<Option<Vec<u8>>> {
    let Some(key) = &record.details_key else {
        return Ok(None);
    };
    let details = objects.find(key).await?;
    let details =
        details.ok_or_else(|| Error::internal(format!("the details {key} of an event are gone")))?;
    Ok(Some(details))
}

/// Restores the whole envelope of a record and its [`details`].
pub fn restored(record: &EventRecord, details: Option<&[u8]>) -> Result<Envelope> {
    let mut envelope: Envelope = serde_json::from_str(&record.envelope).map_err(Error::internal)?;
    if let Some(details) = details {
        envelope.details = serde_json::from_slice(details).map_err(Error::internal)?;
    }
    Ok(envelope)
}
