//! Finds the subscriptions that an event matches, and starts a delivery for each.
//!
//! A message tells of an event; what the event is, its record says. An event of another service has none yet and is written first. One
//! that cannot be read goes to the dead-letter queue with the reason, whole. Matching an event twice starts nothing twice: a delivery and
//! the run that carries it out are written together, under ids that follow from the event and the subscription.

mod function;
mod listening;
mod matching;
mod message;

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use events::matching::SubscriptionSets;
use platform::archive_hints::ArchiveHints;
use platform::batch::Batch;
use platform::objects::Objects;
use platform::queue::Queue;
use platform::records::deliveries::Deliveries;
use platform::records::events::Events;
use platform::records::listeners::Listeners;
use platform::records::processes::Processes;
use platform::records::subscriptions::Subscriptions;
use platform::{Clock, Result, metrics};
use serde_json::json;
use tokio::time::Instant;
use tracing::error;
use workflow::engine::Engine;

pub use function::run;

/// What the matcher works with.
pub struct Matcher {
    /// Starts runs.
    pub engine: Engine,
    /// The events.
    pub events: Events,
    /// The deliveries.
    pub deliveries: Deliveries,
    /// Where large bodies are.
    pub objects: Objects,
    /// The subscriptions.
    pub subscriptions: Subscriptions,
    /// The stored processes.
    pub processes: Processes,
    /// The runs that listen for events.
    pub listeners: Listeners,
    /// The subscriptions, compiled.
    pub sets: SubscriptionSets,
    /// Hints at the logs of events, for the archiver.
    pub archive_hints: ArchiveHints,
    /// Where what cannot be read goes.
    pub dead_letters: Arc<dyn Queue>,
    /// The time.
    pub clock: Clock,
}

/// Matches the events of a batch. The answer names the messages to deliver again.
pub async fn handle(matcher: &Matcher, batch: Batch) -> SqsBatchResponse {
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
