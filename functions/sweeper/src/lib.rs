//! Finds overdue work whose message was lost, whose process died, or whose time was beyond the longest delay
//! of a queue: sends hints at workflow runs and logs, and publishes unmatched events again.

mod batches;
mod large_events;
mod logs;

use std::collections::HashMap;
use std::sync::Arc;

use events::publish::publish_stored;
use events::records::events::{DueEvent, Events, MATCH_GRACE_MS};
use futures::stream::{self, StreamExt as _};
use parking_lot::Mutex;
use platform::bus::Bus;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::{Clock, Result, UtcTime, metrics};
use tracing::{info, warn};
use workflow::engine::Engine;

pub use batches::BatchFinisher;
pub use large_events::EventRemover;
pub use logs::LogSweeper;

/// Time that a sent hint has to take effect before the sweeper sends another, in milliseconds.
const PATIENCE_MS: u64 = 30_000;
/// Longest pause between two messages about an unmatched event, in milliseconds.
const LONGEST_PAUSE_MS: u64 = 3_600_000;
/// Maximum number of events that one sweep reads from each part of the index.
const EVENTS_AT_ONCE: usize = 500;
/// Events that are published concurrently.
const PUBLISHED_AT_ONCE: usize = 16;

/// Overdue work that a sweep found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Runs whose due time has passed.
    pub runs: usize,
    /// Events that were not matched within their grace period; counts at most about 64,000.
    pub events: usize,
}

/// Finds overdue work in repeated sweeps.
pub struct Sweeper {
    engine: Engine,
    events: Events,
    bus: Arc<dyn Bus>,
    clock: Clock,
    /// Recent hints: id, due time, and send time.
    sent: Mutex<HashMap<String, (UtcTime, UtcTime)>>,
}

impl Sweeper {
    pub fn from_deployment(deployment: &Deployment, engine: Engine) -> Result<Self, ConfigError> {
        let events = Events::new(deployment.table(variables::EVENTS_TABLE)?);
        let bus = deployment.bus(variables::EVENT_BUS)?;
        Ok(Self::new(engine, events, bus, deployment.clock()))
    }

    pub fn new(engine: Engine, events: Events, bus: Arc<dyn Bus>, clock: Clock) -> Self {
        Self {
            engine,
            events,
            bus,
            clock,
            sent: Mutex::default(),
        }
    }

    /// Sends a hint for every run that is due within `ahead_ms` milliseconds, delayed to the due time, and
    /// publishes every unmatched event again. Skips work for which this was done recently.
    pub async fn sweep(&self, ahead_ms: u64) -> Result<Backlog> {
        let now = self.clock.now();
        let mut runs = self.engine.due(now.plus_ms(ahead_ms)).await?;
        let due = runs.len();
        let overdue = runs.iter().filter(|run| run.due_at <= now).count();
        metrics::due("runs", overdue);
        runs.retain(|run| self.is_new(&run.run_id, run.due_at, now));
        self.engine.hint_all(&runs).await;
        if !runs.is_empty() {
            info!(found = due, hints = runs.len(), "workflow runs are due");
        }
        let mut removals = self.engine.removals(now).await?;
        removals.retain(|run| self.is_new(&run.run_id, run.due_at, now));
        if !removals.is_empty() {
            info!(hints = removals.len(), "workflow runs are to be removed");
        }
        self.engine.hint_all(&removals).await;
        let events = self.events.due(now, Some(EVENTS_AT_ONCE)).await?;
        // A found event is postponed, so events of earlier sweeps count too: this number rises while the bus
        // is unavailable.
        let waiting = self
            .events
            .due_after(now.plus_ms(MATCH_GRACE_MS), EVENTS_AT_ONCE)
            .await?;
        let backlog = Backlog {
            runs: overdue,
            events: events.len() + waiting,
        };
        metrics::due("events", backlog.events);
        if !events.is_empty() {
            info!(found = events.len(), "events are not matched");
        }
        self.publish_again(events).await;
        self.forget(now);
        Ok(backlog)
    }

    /// Publishes every unmatched event, however young. For a caller that knows that the messages are lost.
    pub async fn publish_all(&self) -> Result<()> {
        let latest = UtcTime::EPOCH.plus_ms(u64::MAX);
        let events = self.events.due(latest, None).await?;
        self.publish_again(events).await;
        Ok(())
    }

    async fn publish_again(&self, events: Vec<DueEvent>) {
        stream::iter(events)
            .for_each_concurrent(PUBLISHED_AT_ONCE, |event| async move {
                if let Err(cause) = self.republish(&event).await {
                    warn!(event_id = event.event_id, %cause, "an event was not published again");
                }
            })
            .await;
    }

    /// Publishes an event again, and postpones its next look. Each pause is longer, so that an event that can
    /// never be matched does not delay others.
    async fn republish(&self, event: &DueEvent) -> Result<()> {
        let Some(record) = self.events.find(&event.tenant, &event.event_id).await? else {
            return Ok(());
        };
        publish_stored(self.bus.as_ref(), &record).await;
        let now = self.clock.now();
        let pause = now
            .millis_since(record.received_at)
            .clamp(PATIENCE_MS, LONGEST_PAUSE_MS);
        self.events
            .postpone(&event.tenant, &event.event_id, now.plus_ms(pause))
            .await
    }

    fn is_new(&self, id: &str, due_at: UtcTime, now: UtcTime) -> bool {
        let mut sent = self.sent.lock();
        match sent.get(id) {
            Some((known, sent_at)) if *known == due_at && !is_over(due_at, *sent_at, now) => false,
            _ => {
                sent.insert(id.to_owned(), (due_at, now));
                true
            }
        }
    }

    fn forget(&self, now: UtcTime) {
        let mut sent = self.sent.lock();
        sent.retain(|_, (due_at, sent_at)| !is_over(*due_at, *sent_at, now));
    }
}

/// True if a sent hint has had enough time to take effect.
fn is_over(due_at: UtcTime, sent_at: UtcTime, now: UtcTime) -> bool {
    now >= sent_at.max(due_at).plus_ms(PATIENCE_MS)
}
