//! Publishes events: each is stored first, and then put on the bus. The consumer of the message reads the
//! record; an event whose message is lost stays due.

use std::sync::Arc;

use platform::bus::Bus;
use platform::objects::Objects;
use platform::{Error, Result, Tenant, UtcTime, metrics, trace};
use serde::Serialize;
use tracing::warn;

use crate::envelope::Envelope;
use crate::payload;
use crate::records::events::{EventRecord, Events, IngestKey, Ingested};

/// The run that causes an event.
#[derive(Clone, Debug, Default)]
pub struct RunOrigin {
    /// Owner of a private run.
    pub private_to: Option<String>,
    /// Subscriptions that led to the run.
    pub lineage: Vec<String>,
}

/// Message of a private event, which readers of the bus see: it names the record, and nothing else.
#[derive(Serialize)]
struct PrivateMessage<'a> {
    event_id: &'a str,
    account_id: &'a str,
    project_id: &'a str,
}

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
        origin: RunOrigin,
        now: UtcTime,
    ) -> Result<()> {
        envelope.check()?;
        if let Some(position) = trace::current() {
            envelope.set_position(Some(position));
        }
        let details_key = payload::keep(&self.objects, tenant, &mut envelope).await?;
        let record = EventRecord {
            id: envelope.event_id.clone(),
            envelope: envelope.to_json()?,
            details_key,
            received_at: now,
            private_to: origin.private_to,
            lineage: origin.lineage,
            matched_at: None,
        };
        self.events.insert(tenant, &record).await?;
        metrics::event_accepted(envelope.event_category.as_str());
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
        if let Some(position) = trace::current() {
            envelope.set_position(Some(position));
        }
        let details_key = payload::keep(&self.objects, tenant, &mut envelope).await?;
        let record = EventRecord {
            id: envelope.event_id.clone(),
            envelope: envelope.to_json()?,
            details_key,
            received_at: now,
            private_to: None,
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
        metrics::event_accepted(envelope.event_category.as_str());
        publish_stored(self.bus.as_ref(), &record).await;
        Ok(record.id)
    }
}

/// Puts a stored event on the bus. Where the bus refuses it, the sweeper finds the event by its due time.
pub async fn publish_stored(bus: &dyn Bus, record: &EventRecord) {
    let published = async {
        match &record.private_to {
            None => bus.publish(&record.envelope).await,
            Some(_) => bus.publish(&private_message(record)?).await,
        }
    };
    if let Err(cause) = published.await {
        warn!(event_id = record.id, %cause, "a stored event is not on the bus; the sweeper publishes it again");
    }
}

fn private_message(record: &EventRecord) -> Result<String> {
    let envelope: Envelope = serde_json::from_str(&record.envelope).map_err(Error::internal)?;
    let message = PrivateMessage {
        event_id: &record.id,
        account_id: &envelope.account_id,
        project_id: &envelope.project_id,
    };
    serde_json::to_string(&message).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use parking_lot::Mutex;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);

    #[async_trait]
    impl Bus for Kept {
        async fn publish(&self, detail: &str) -> Result<()> {
            self.0.lock().push(detail.to_owned());
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_private_event_is_on_the_bus_by_its_ids_alone() {
        let envelope = r#"{"event_id":"e1","event_category":"workflow","action":"workflow_failed","resource_type":"workflow_run","resource_id":"r1","account_id":"acme","project_id":"demo","timestamp":"2026-01-02T03:04:05Z","source":"workflow","details":{"initiated_by":"user:ada"}}"#;
        let record = |private_to: Option<&str>| EventRecord {
            id: "e1".to_owned(),
            envelope: envelope.to_owned(),
            details_key: None,
            received_at: UtcTime::EPOCH,
            private_to: private_to.map(str::to_owned),
            lineage: Vec::new(),
            matched_at: None,
        };
        let bus = Kept::default();
        publish_stored(&bus, &record(None)).await;
        publish_stored(&bus, &record(Some("user:ada"))).await;
        let ids = r#"{"event_id":"e1","account_id":"acme","project_id":"demo"}"#;
        assert_eq!(*bus.0.lock(), [envelope, ids]);
    }
}
