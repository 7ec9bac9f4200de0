//! Publishes events: each is stored first, and then put on the bus. The consumer of the message reads the
//! record; an event whose message is lost stays due.

use std::sync::Arc;

use platform::bus::Bus;
use platform::objects::Objects;
use platform::records::events::{EventRecord, Events, IngestKey, Ingested};
use platform::{Result, Tenant, UtcTime};
use tracing::warn;

use crate::envelope::Envelope;
use crate::payload;

/// Stores events and puts them on the bus.
#[derive(Clone)]
pub struct Publisher {
    events: Events,
    objects: Objects,
    bus: Arc<dyn Bus>,
}

impl Publisher {
    pub fn new(events: Events, objects: Objects, bus: Arc<dyn Bus>) -> Self {
        Self { events, objects, bus }
    }

    /// Publishes an event that a run caused, once per event id.
    pub async fn publish_of_run(
        &self,
        tenant: &Tenant,
        mut envelope: Envelope,
        lineage: Vec<String>,
        now: UtcTime,
    ) -> Result<()> {
        envelope.check()?;
        let details_key = payload::keep(&self.objects, tenant, &mut envelope).await?;
        let record = EventRecord {
            id: envelope.event_id.clone(),
            envelope: envelope.to_json()?,
            details_key,
            received_at: now,
            lineage,
            matched_at: None,
        };
        self.events.insert(tenant, &record).await?;
        publish_stored(self.bus.as_ref(), &record).await;
        Ok(())
    }

    /// Publishes an event, once per idempotency key. Returns the id of the event that has the key.
    pub async fn publish(
        &self,
        tenant: &Tenant,
        mut envelope: Envelope,
        key: Option<IngestKey<'_>>,
        now: UtcTime,
    ) -> Result<String> {
        envelope.check()?;
        let details_key = payload::keep(&self.objects, tenant, &mut envelope).await?;
        let record = EventRecord {
            id: envelope.event_id.clone(),
            envelope: envelope.to_json()?,
            details_key,
            received_at: now,
            lineage: Vec::new(),
            matched_at: None,
        };
        match key {
            None => self.events.insert(tenant, &record).await?,
            Some(key) => {
                if let Ingested::Before(event_id) = self.events.insert_once(tenant, &record, key).await? {
                    if let Some(key) = &record.details_key
                        && let Err(cause) = self.objects.remove(key).await
                    {
                        warn!(event_id, key, %cause, "the details of a repeated event were not removed");
                    }
                    return Ok(event_id);
                }
            }
        }
        publish_stored(self.bus.as_ref(), &record).await;
        Ok(record.id)
    }
}

/// Puts a stored event on the bus. Where the bus refuses it, the sweeper finds the event by its due time.
pub async fn publish_stored(bus: &dyn Bus, record: &EventRecord) {
    if let Err(cause) = bus.publish(&record.envelope).await {
        warn!(event_id = record.id, %cause, "a stored event is not on the bus; the sweeper publishes it again");
    }
}
