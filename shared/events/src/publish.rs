//! Publishes events: each is stored first, and then put on the bus. The consumer of the message reads the
//! record; an event whose message is lost stays due.

use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::bus::Bus;
use platform::ids;
use platform::objects::Objects;
use platform::{Error, Result, Tenant, UtcTime, metrics, trace};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::envelope::{Category, Envelope};
use crate::payload;
use crate::records::event_batches::{EventBatch, EventBatches};
use crate::records::events::{EventRecord, Events, IngestKey, Ingested};
use crate::system_event::SystemEvent;

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

/// Events of a batch that are written concurrently.
const WRITTEN_AT_ONCE: usize = 16;
/// Batches above this size go to the bucket: a record holds 400 KB.
const MAX_INLINE_BYTES: usize = 100_000;

/// An event of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    pub envelope: Envelope,
    /// Key by which repeats of the event are recognized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Stores events and puts them on the bus.
#[derive(Clone)]
pub struct Publisher {
    events: Events,
    batches: EventBatches,
    objects: Objects,
    bus: Arc<dyn Bus>,
}

impl Publisher {
    pub fn new(events: Events, objects: Objects, bus: Arc<dyn Bus>) -> Self {
        Self {
            batches: events.batches(),
            events,
            objects,
            bus,
        }
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
            addressee: None,
            matched_at: None,
        };
        self.insert(tenant, &record, envelope.event_category).await
    }

    /// Publishes a test event for one subscription. Returns its record.
    pub async fn publish_to(
        &self,
        tenant: &Tenant,
        mut envelope: Envelope,
        subscription_id: &str,
        now: UtcTime,
    ) -> Result<EventRecord> {
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
            addressee: Some(subscription_id.to_owned()),
            matched_at: None,
        };
        self.insert(tenant, &record, envelope.event_category).await?;
        Ok(record)
    }

    async fn insert(&self, tenant: &Tenant, record: &EventRecord, category: Category) -> Result<()> {
        self.events.insert(tenant, record).await?;
        metrics::event_accepted(category.as_str());
        publish_stored(self.bus.as_ref(), record).await;
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
            addressee: None,
            matched_at: None,
        };
        match key {
            None => self.events.insert(tenant, &record).await?,
            Some(key) => {
                let ingested = self.events.insert_once(tenant, &record, key).await?;
                // An event of a batch may be written again.
                if let Ingested::Before(event_id) = ingested
                    && event_id != record.id
                {
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

impl Publisher {
    /// Publishes a report about the service's own work.
    pub async fn publish_system(&self, tenant: &Tenant, event: SystemEvent, now: UtcTime) -> Result<()> {
        let record = event.record(tenant, now)?;
        self.insert(tenant, &record, Category::System).await
    }

    /// Publishes the events of one request to a channel: all of them or none. Returns the ids, each of the
    /// event that has the idempotency key.
    pub async fn publish_together(
        &self,
        tenant: &Tenant,
        channel_id: &str,
        mut members: Vec<Member>,
        now: UtcTime,
    ) -> Result<Vec<String>> {
        match (members.pop(), members.is_empty()) {
            (Some(only), true) => {
                let key = only.idempotency_key.as_deref();
                let key = key.map(|key| IngestKey { channel_id, key });
                Ok(vec![self.publish(tenant, only.envelope, key, now).await?])
            }
            (last, _) => {
                members.extend(last);
                self.publish_batch(tenant, channel_id, members, now).await
            }
        }
    }

    /// Publishes several events like [`Self::publish_together`], by a record of them all.
    async fn publish_batch(
        &self,
        tenant: &Tenant,
        channel_id: &str,
        members: Vec<Member>,
        now: UtcTime,
    ) -> Result<Vec<String>> {
        members.iter().try_for_each(|member| member.envelope.check())?;
        let events = serde_json::to_string(&members).map_err(Error::internal)?;
        let id = ids::new_id(now);
        let events_key = (events.len() > MAX_INLINE_BYTES).then(|| payload::key(tenant, &id));
        if let Some(key) = &events_key {
            self.objects.put(key, events.clone().into_bytes()).await?;
        }
        let batch = EventBatch {
            id,
            channel_id: channel_id.to_owned(),
            received_at: now,
            events: if events_key.is_some() {
                String::new()
            } else {
                events
            },
            events_key,
        };
        self.batches.insert(tenant, &batch).await?;
        match self.publish_members(tenant, &batch, &members).await {
            Ok(ids) => Ok(ids),
            Err(cause) => {
                warn!(batch_id = batch.id, %cause, "not all events of a batch are written; the sweeper writes the others");
                Ok(members
                    .into_iter()
                    .map(|member| member.envelope.event_id)
                    .collect())
            }
        }
    }

    /// Writes what is missing of the batches that are due.
    pub async fn finish_batches(&self, now: UtcTime, most: usize) -> Result<usize> {
        let due = self.batches.due(now, most).await?;
        for batch in &due {
            if let Err(cause) = self.finish(&batch.tenant, &batch.id).await {
                warn!(batch_id = batch.id, %cause, "a batch of events is not finished yet");
            }
        }
        Ok(due.len())
    }

    async fn finish(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let Some(batch) = self.batches.find(tenant, id).await? else {
            return Ok(());
        };
        let events = match &batch.events_key {
            None => batch.events.clone().into_bytes(),
            Some(key) => {
                let events = self.objects.find(key).await?;
                events.ok_or_else(|| Error::internal(format!("the events {key} of a batch are gone")))?
            }
        };
        let members: Vec<Member> = serde_json::from_slice(&events).map_err(Error::internal)?;
        self.publish_members(tenant, &batch, &members).await.map(drop)
    }

    async fn publish_members(
        &self,
        tenant: &Tenant,
        batch: &EventBatch,
        members: &[Member],
    ) -> Result<Vec<String>> {
        let mut writes = Vec::with_capacity(members.len());
        for member in members {
            let key = member.idempotency_key.as_deref().map(|key| IngestKey {
                channel_id: &batch.channel_id,
                key,
            });
            writes.push(self.publish(tenant, member.envelope.clone(), key, batch.received_at));
        }
        let ids = stream::iter(writes)
            .buffered(WRITTEN_AT_ONCE)
            .try_collect()
            .await?;
        self.batches.remove(tenant, &batch.id).await?;
        if let Some(key) = &batch.events_key
            && let Err(cause) = self.objects.remove(key).await
        {
            warn!(key, %cause, "the events of a finished batch were not removed");
        }
        Ok(ids)
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
            addressee: None,
            matched_at: None,
        };
        let bus = Kept::default();
        publish_stored(&bus, &record(None)).await;
        publish_stored(&bus, &record(Some("user:ada"))).await;
        let ids = r#"{"event_id":"e1","account_id":"acme","project_id":"demo"}"#;
        assert_eq!(*bus.0.lock(), [envelope, ids]);
    }
}
