//! Large bodies of outsiders: kept in the bucket, and put back where an event is read.

use platform::objects::Objects;
use platform::records::events::EventRecord;
use platform::{Error, Result, Tenant};
use serde_json::value::RawValue;

use crate::envelope::{Envelope, PAYLOAD};

/// A body of more bytes is kept in the bucket: a record takes 400 KB.
const MAX_INLINE_BYTES: usize = 100_000;

/// The place of an event's body in the bucket.
fn key(tenant: &Tenant, event_id: &str) -> String {
    format!("payloads/{}/{}/events/{event_id}", tenant.account(), tenant.project())
}

/// Takes a large body out of an envelope and keeps it; its place.
pub async fn keep(objects: &Objects, tenant: &Tenant, envelope: &mut Envelope) -> Result<Option<String>> {
    let is_large = |payload: &Box<RawValue>| payload.get().len() > MAX_INLINE_BYTES;
    if !envelope.details.get(PAYLOAD).is_some_and(is_large) {
        return Ok(None);
    }
    let Some(payload) = envelope.details.remove(PAYLOAD) else {
        return Ok(None);
    };
    let key = key(tenant, &envelope.event_id);
    objects.put(&key, payload.get().as_bytes().to_vec()).await?;
    Ok(Some(key))
}

/// The envelope of a record, whole.
pub async fn whole(objects: &Objects, record: &EventRecord) -> Result<Envelope> {
    let mut envelope: Envelope = serde_json::from_str(&record.envelope).map_err(Error::internal)?;
    if let Some(key) = &record.payload_key {
        let bytes = objects.find(key).await?;
        let bytes = bytes.ok_or_else(|| Error::internal(format!("the payload {key} of an event is gone")))?;
        let text = String::from_utf8(bytes).map_err(Error::internal)?;
        let payload = RawValue::from_string(text).map_err(Error::internal)?;
        envelope.details.insert(PAYLOAD.to_owned(), payload);
    }
    Ok(envelope)
}
