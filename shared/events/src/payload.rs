//! Large details, such as the body of an outsider: kept in the bucket, and put back where an event is read.

use platform::objects::Objects;
use platform::records::events::EventRecord;
use platform::{Error, Result, Tenant};
use sha2::{Digest as _, Sha256};

use crate::envelope::Envelope;

/// Details of more bytes are kept in the bucket: a record takes 400 KB and the bus 256.
const MAX_INLINE_BYTES: usize = 100_000;

/// The place of an event's details in the bucket.
fn key(tenant: &Tenant, event_id: &str) -> String {
    // Another service may call its events anything.
    let name = hex::encode(Sha256::digest(event_id.as_bytes()));
    format!("payloads/{}/{}/events/{name}", tenant.account(), tenant.project())
}

/// Takes large details out of an envelope and keeps them; their place.
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

/// The envelope of a record, whole.
pub async fn whole(objects: &Objects, record: &EventRecord) -> Result<Envelope> {
    let mut envelope: Envelope = serde_json::from_str(&record.envelope).map_err(Error::internal)?;
    if let Some(key) = &record.details_key {
        let bytes = objects.find(key).await?;
        let bytes =
            bytes.ok_or_else(|| Error::internal(format!("the details {key} of an event are gone")))?;
        envelope.details = serde_json::from_slice(&bytes).map_err(Error::internal)?;
    }
    Ok(envelope)
}
