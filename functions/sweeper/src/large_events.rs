//! Removes expired events whose details are in the bucket, with the details.

use events::records::deliveries::Deliveries;
use events::records::events::{DueEvent, Events};
use events::retention::Retention;
use futures::stream::{self, StreamExt as _};
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::records::Table;
use platform::{Clock, Result};
use tracing::{info, warn};

/// Maximum number of events that one sweep reads.
const MOST_AT_ONCE: usize = 500;
const REMOVED_AT_ONCE: usize = 16;

/// Removes expired events in repeated sweeps.
pub struct EventRemover {
    events: Events,
    deliveries: Deliveries,
    objects: Objects,
    clock: Clock,
}

impl EventRemover {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let objects = deployment.bucket(variables::DATA_BUCKET)?;
        let retention = Retention::from_environment(deployment.environment())?;
        Ok(Self::new(events, objects, retention, deployment.clock()))
    }

    pub fn new(events: Table, objects: Objects, retention: Retention, clock: Clock) -> Self {
        Self {
            events: Events::new(events.clone()).retaining(retention),
            deliveries: Deliveries::new(events),
            objects,
            clock,
        }
    }

    /// Removes expired events. Returns the number of events that it read.
    pub async fn sweep(&self) -> Result<usize> {
        let due = self.events.removals(self.clock.now(), MOST_AT_ONCE).await?;
        let count = due.len();
        stream::iter(due)
            .for_each_concurrent(REMOVED_AT_ONCE, |event| async move {
                if let Err(cause) = self.remove(&event).await {
                    warn!(event_id = event.event_id, %cause, "an event whose time has come is not removed yet");
                }
            })
            .await;
        if count > 0 {
            info!(
                found = count,
                "events with details in the bucket are at their end"
            );
        }
        Ok(count)
    }

    async fn remove(&self, event: &DueEvent) -> Result<()> {
        let now = self.clock.now();
        if let Some(key) = self.events.begin_removal(&self.deliveries, event, now).await? {
            self.objects.remove(&key).await?;
            self.events.end_removal(event).await?;
        }
        Ok(())
    }
}
