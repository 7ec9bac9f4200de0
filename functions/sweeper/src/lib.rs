//! Sends a hint at each workflow run, event and log that is overdue: its message was lost, its process died, or
//! its time came after longer than a queue can hold a message back.

mod large_events;
mod logs;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use events::publish::tell;
use futures::stream::{self, StreamExt as _};
use platform::bus::Bus;
use platform::records::events::{DueEvent, Events, MATCH_GRACE_MS};
use platform::{Clock, Result, UtcTime, metrics};
use tracing::{info, warn};
use workflow::engine::Engine;

pub use large_events::EventRemover;
pub use logs::LogSweeper;

/// How long a hint that was sent is left to have its effect before another is, in milliseconds.
const PATIENCE_MS: u64 = 30_000;
/// Longest time between two looks at an event that nobody has matched, in milliseconds.
const LONGEST_PAUSE_MS: u64 = 3_600_000;
/// Most events of each part of the index that one look finds.
const EVENTS_AT_ONCE: usize = 500;
/// Events that are put on the bus at a time.
const TOLD_AT_ONCE: usize = 16;

/// What a sweep found that is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Runs whose time has come.
    pub runs: usize,
    /// Events that were not matched within their grace; at most about 8,000 are counted.
    pub events: usize,
}

/// Looks for what is due, again and again.
pub struct Sweeper {
    engine: Engine,
    events: Events,
    bus: Arc<dyn Bus>,
    clock: Clock,
    /// The hints that were sent lately: at what, for which time, and when.
    sent: Mutex<HashMap<String, (UtcTime, UtcTime)>>,
}

impl Sweeper {
    /// Over an engine, the events and their bus.
    pub fn new(engine: Engine, events: Events, bus: Arc<dyn Bus>, clock: Clock) -> Self {
        Self {
            engine,
            events,
            bus,
            clock,
            sent: Mutex::default(),
        }
    }

    /// Sends a hint at every run that somebody should look at within `ahead_ms` milliseconds, each for its time, and puts every
    /// event on the bus that nobody has matched; but nothing for which that was done a moment ago.
    pub async fn sweep(&self, ahead_ms: u64) -> Result<Backlog> {
        let now = self.clock.now();
        let mut runs = self.engine.due(now.plus_ms(ahead_ms)).await?;
        let found = runs.len();
        let overdue = runs.iter().filter(|run| run.due_at <= now).count();
        metrics::due("runs", overdue);
        runs.retain(|run| self.is_new(&run.run_id, run.due_at, now));
        self.engine.hint_all(&runs).await;
        if !runs.is_empty() {
            info!(found, hints = runs.len(), "workflow runs are due");
        }
        let mut removals = self.engine.removals(now).await?;
        removals.retain(|run| self.is_new(&run.run_id, run.due_at, now));
        if !removals.is_empty() {
            info!(hints = removals.len(), "workflow runs are to be removed");
        }
        self.engine.hint_all(&removals).await;
        let events = self.events.due(now, Some(EVENTS_AT_ONCE)).await?;
        // A found event is postponed, so those of earlier sweeps count too: a bus that is away makes
        // this rise.
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
        self.tell_again(events).await;
        self.forget(now);
        Ok(backlog)
    }

    /// Puts every event on the bus that nobody has matched, however young: for whoever knows that the messages are gone.
    pub async fn tell_all(&self) -> Result<()> {
        let latest = UtcTime::EPOCH.plus_ms(u64::MAX);
        let events = self.events.due(latest, None).await?;
        self.tell_again(events).await;
        Ok(())
    }

    async fn tell_again(&self, events: Vec<DueEvent>) {
        stream::iter(events)
            .for_each_concurrent(TOLD_AT_ONCE, |event| async move {
                if let Err(cause) = self.tell_once_more(&event).await {
                    warn!(event_id = event.event_id, %cause, "an event is not told of again");
                }
            })
            .await;
    }

    /// Puts an event on the bus, and looks for it later each time: one that can never be matched must not be in the way of others.
    async fn tell_once_more(&self, event: &DueEvent) -> Result<()> {
        let Some(record) = self.events.find(&event.tenant, &event.event_id).await? else {
            return Ok(());
        };
        tell(self.bus.as_ref(), &record).await;
        let now = self.clock.now();
        let pause = now
            .millis_since(record.received_at)
            .clamp(PATIENCE_MS, LONGEST_PAUSE_MS);
        self.events
            .postpone(&event.tenant, &event.event_id, now.plus_ms(pause))
            .await
    }

    fn is_new(&self, id: &str, due_at: UtcTime, now: UtcTime) -> bool {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        match sent.get(id) {
            Some((known, sent_at)) if *known == due_at && !is_over(due_at, *sent_at, now) => false,
            _ => {
                sent.insert(id.to_owned(), (due_at, now));
                true
            }
        }
    }

    fn forget(&self, now: UtcTime) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|_, (due_at, sent_at)| !is_over(*due_at, *sent_at, now));
    }
}

/// Whether a hint that was sent for a time has had the time to have its effect.
fn is_over(due_at: UtcTime, sent_at: UtcTime, now: UtcTime) -> bool {
    now >= sent_at.max(due_at).plus_ms(PATIENCE_MS)
}
