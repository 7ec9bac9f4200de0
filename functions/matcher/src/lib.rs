//! Finds the subscriptions that match an event, and starts a delivery for each.
//!
//! A message names an event; the event's record is the truth. An event of another service has no record yet,
//! so the matcher writes one first. An unreadable message goes whole to the dead-letter queue, with the
//! reason. Matching an event twice starts nothing twice, because delivery and run have ids derived from the
//! event and the subscription.

mod listening;
mod matching;
mod message;

use std::sync::Arc;

use events::listening::ListenerFilters;
use events::matching::SubscriptionSets;
use events::records::deliveries::Deliveries;
use events::records::events::Events;
use events::records::lanes::Lanes;
use events::records::listeners::Listeners;
use events::records::subscriptions::Subscriptions;
use events::retention::Retention;
use platform::archive_hints::ArchiveHints;
use platform::batch::Batch;
use platform::bus::Bus;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::queue::Queue;
use platform::{Clock, Result, metrics};
use process::records::processes::Processes;
use serde_json::json;
use tokio::time::Instant;
use tracing::error;
use workflow::engine::Engine;

pub struct Matcher {
    pub engine: Engine,
    pub events: Events,
    pub deliveries: Deliveries,
    pub lanes: Lanes,
    /// Holds large event details.
    pub objects: Objects,
    pub subscriptions: Subscriptions,
    pub processes: Processes,
    pub listeners: Listeners,
    pub listener_filters: ListenerFilters,
    pub sets: SubscriptionSets,
    pub archive_hints: ArchiveHints,
    /// Receives the events about failed deliveries.
    pub bus: Arc<dyn Bus>,
    /// Receives unreadable messages.
    pub dead_letters: Arc<dyn Queue>,
    pub clock: Clock,
}

impl Matcher {
    pub fn from_deployment(deployment: &Deployment, engine: Engine) -> Result<Self, ConfigError> {
        let records = deployment.table(variables::RECORDS_TABLE)?;
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let retention = Retention::from_environment(deployment.environment())?;
        let subscriptions = Subscriptions::new(records.clone());
        Ok(Self {
            engine,
            events: Events::new(events.clone()).retaining(retention),
            lanes: Lanes::new(events.clone()),
            deliveries: Deliveries::new(events).retaining(retention),
            objects: deployment.bucket(variables::DATA_BUCKET)?,
            sets: SubscriptionSets::new(subscriptions.clone()),
            subscriptions,
            processes: Processes::new(records.clone()),
            listeners: Listeners::new(records),
            listener_filters: ListenerFilters::default(),
            archive_hints: ArchiveHints::from_deployment(deployment)?,
            bus: deployment.bus(variables::EVENT_BUS)?,
            dead_letters: deployment.queue(variables::EVENT_DEAD_LETTER_QUEUE)?,
            clock: deployment.clock(),
        })
    }
}

/// Matches the events of a batch. Returns the ids of the messages to deliver again.
pub async fn handle(matcher: &Matcher, batch: Batch) -> Vec<String> {
    batch.each(async |body| one(matcher, &body).await).await
}

async fn one(matcher: &Matcher, body: &str) -> Result<()> {
    let read = match message::read(body) {
        Ok(told) => {
            let began = Instant::now();
            let matched = matching::match_event(matcher, told).await?;
            metrics::event_matched(began.elapsed());
            matched
        }
        Err(reason) => Err(reason),
    };
    let Err(reason) = read else {
        return Ok(());
    };
    error!(
        reason,
        "an event cannot be read; it goes to the dead-letter queue"
    );
    let letter = json!({ "reason": reason, "message": body }).to_string();
    matcher.dead_letters.send(&letter).await
}
