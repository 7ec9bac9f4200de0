//! Writes the events of batches whose request ended before all were written.

use std::sync::Arc;

use events::publish::Publisher;
use events::records::events::Events;
use platform::bus::Bus;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::records::Table;
use platform::{Clock, Result};
use tracing::info;

/// Maximum number of batches that one sweep reads from each part of the index.
const MOST_AT_ONCE: usize = 20;

/// Finishes batches of events in repeated sweeps.
pub struct BatchFinisher {
    publisher: Publisher,
    clock: Clock,
}

impl BatchFinisher {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let objects = deployment.bucket(variables::DATA_BUCKET)?;
        let bus = deployment.bus(variables::EVENT_BUS)?;
        Ok(Self::new(events, objects, bus, deployment.clock()))
    }

    pub fn new(events: Table, objects: Objects, bus: Arc<dyn Bus>, clock: Clock) -> Self {
        Self {
            publisher: Publisher::new(Events::new(events), objects, bus),
            clock,
        }
    }

    /// Finishes the batches that are due. Returns the number of batches that it read.
    pub async fn sweep(&self) -> Result<usize> {
        let count = self
            .publisher
            .finish_batches(self.clock.now(), MOST_AT_ONCE)
            .await?;
        if count > 0 {
            info!(found = count, "batches of events are not finished");
        }
        Ok(count)
    }
}
