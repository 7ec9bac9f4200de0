//! Decides when a delivery has its turn in its lane, and lets the next one go on.
//!
//! A delivery has its turn when no unmatched event arrived before its own and no other delivery of the lane
//! is before it. Matching is concurrent and repeated, so an event may be matched long after a later one: the
//! index of unmatched events shows that. The index lags, so a delivery waits for [`SETTLE_MS`] after its
//! event first. A run that waits holds no worker: the one before it signals it, and it looks for itself after
//! a while in case that signal is lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use events::records::deliveries::Deliveries;
use events::records::events::{Events, MATCH_GRACE_MS};
use events::records::lanes::{LanePlace, Lanes, Waiting};
use parking_lot::Mutex;
use platform::records::Table;
use platform::records::keys::DueKind;
use platform::{Clock, ErrorKind, Tenant, UtcTime, ids};
use serde_json::Value;
use workflow::future::{Either, select};
use workflow::turn::Signals;
use workflow::{ActivityContext, Context, Failure, Payload, RetryPolicy};

/// Signal that tells a waiting delivery to look for its turn.
pub const TURN: &str = "Turn";
/// Name of the activity that leaves a lane.
pub const LEAVE: &str = "leave_lane";
/// Wait after the arrival of an event, in milliseconds, in which the events before it become visible.
pub const SETTLE_MS: u64 = 1_500;
/// Age that a view of the unmatched events must have beyond the arrival of an event, in milliseconds.
const VISIBLE_MS: u64 = 1_000;
/// Age up to which a view shows what holds a delivery up, in milliseconds.
const RECENT_MS: i64 = 500;
/// Time for which an unmatched event holds up later ones, in milliseconds: an hour.
const MAX_HOLD_MS: u64 = 3_600_000;
/// Pause until an unmatched event is looked for again, in milliseconds.
const UNMATCHED_PAUSE_MS: u64 = 5_000;
/// First pause of a delivery that waits for another one, in milliseconds; doubled each time, up to
/// [`LONGEST_PAUSE_MS`].
const FIRST_PAUSE_MS: u64 = 60_000;
const LONGEST_PAUSE_MS: u64 = 15 * 60_000;
/// Places of ended deliveries that one look removes.
const MAX_REMOVALS: usize = 25;
/// Time limit for all attempts to leave a lane.
const LEAVE_LIMIT: Duration = Duration::from_secs(3_600);
/// Unmatched events that are read of each partition of the index.
const UNMATCHED: usize = 100;

/// Unmatched events at a time.
struct View {
    taken_at: UtcTime,
    waiting: Vec<(Tenant, LaneTime)>,
    /// Events that arrived after this may be missing here; None where none are.
    partial_from: Option<UtcTime>,
}

/// Arrival of an event, and its id.
type LaneTime = (UtcTime, String);

/// Waits for this time, or for the signal of the lane.
pub(crate) async fn pause(context: &Context, pause_ms: u64, turns: &Signals) -> Result<(), Failure> {
    let waiting = context.scope();
    let pause = waiting.timer(Duration::from_millis(pause_ms));
    if let Either::Left((passed, _)) = select(pause, turns.receive::<Value>()).await {
        passed?;
    }
    waiting.cancel();
    Ok(())
}

/// Leaves a lane at the end of a run, also of a cancelled one.
pub(crate) async fn leave(context: &Context, place: &LanePlace) {
    let left = context.shielded().activity::<()>(LEAVE, place);
    let left = left.schedule_to_close(LEAVE_LIMIT).retry(RetryPolicy::default());
    // The next delivery finds out by itself.
    drop(left.await);
}

/// The services that lanes need.
#[derive(Clone)]
pub struct Turns {
    lanes: Lanes,
    events: Events,
    deliveries: Deliveries,
    clock: Clock,
    view: Arc<Mutex<Option<Arc<View>>>>,
}

impl Turns {
    /// `table` has the events.
    pub fn new(table: Table, clock: Clock) -> Self {
        Self {
            lanes: Lanes::new(table.clone()),
            events: Events::new(table.clone()),
            deliveries: Deliveries::new(table),
            clock,
            view: Arc::default(),
        }
    }

    /// Returns how long a delivery must wait for its turn, in milliseconds; None where it has its turn.
    /// `waits` is how often it has waited.
    pub async fn wait(
        &self,
        tenant: &Tenant,
        place: &LanePlace,
        waits: u32,
    ) -> platform::Result<Option<u64>> {
        let age = self.clock.now().millis_since(place.received_at);
        if age < SETTLE_MS {
            return Ok(Some(SETTLE_MS - age));
        }
        if age < MAX_HOLD_MS && self.is_held_up(tenant, place).await? {
            return Ok(Some(UNMATCHED_PAUSE_MS));
        }
        match self.next(tenant, &place.lane).await? {
            Some(first) if first.place.is_before(place) => {
                let doubled = FIRST_PAUSE_MS.saturating_mul(1 << waits.min(10));
                Ok(Some(doubled.min(LONGEST_PAUSE_MS)))
            }
            _ => Ok(None),
        }
    }

    /// Whether an event that arrived before is not matched yet.
    async fn is_held_up(&self, tenant: &Tenant, place: &LanePlace) -> platform::Result<bool> {
        let now = self.clock.now();
        let own = (place.received_at, place.event_id.clone());
        let visible = place.received_at.plus_ms(VISIBLE_MS);
        // A view that shows nothing before the event stays true; one that does may be out of date.
        let recent = UtcTime::from_millis(now.as_millis() - RECENT_MS).unwrap_or(visible);
        for time in [visible, visible.max(recent)] {
            let view = self.view_after(time).await?;
            let is_before = |(owner, event): &(Tenant, LaneTime)| {
                owner == tenant && *event < own && now.millis_since(event.0) < MAX_HOLD_MS
            };
            let is_whole = view.partial_from.is_none_or(|from| place.received_at < from);
            if is_whole && !view.waiting.iter().any(is_before) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns a view of the unmatched events that is not older than a time. All deliveries of the process
    /// share it, so that it is read about twice a second at most.
    async fn view_after(&self, time: UtcTime) -> platform::Result<Arc<View>> {
        let last = self.view.lock().clone();
        if let Some(view) = last.filter(|view| view.taken_at >= time) {
            return Ok(view);
        }
        let taken_at = self.clock.now();
        let end = taken_at.plus_ms(MAX_HOLD_MS);
        let mut waiting = Vec::new();
        let mut pages: HashMap<String, (usize, UtcTime)> = HashMap::new();
        for due in self.events.due(end, Some(UNMATCHED)).await? {
            // Never later than this, and equal until the sweeper postpones the event.
            let grace = i64::try_from(MATCH_GRACE_MS).unwrap_or_default();
            let latest = UtcTime::from_millis(due.due_at.as_millis() - grace).unwrap_or(due.due_at);
            let page = pages
                .entry(DueKind::Events.shard_of(&due.event_id))
                .or_insert((0, latest));
            *page = (page.0 + 1, page.1.max(latest));
            let received_at = match ids::time_of(&due.event_id) {
                Some(at) => at.min(latest),
                None => match self.events.find(&due.tenant, &due.event_id).await? {
                    Some(event) => event.received_at,
                    None => continue,
                },
            };
            waiting.push((due.tenant, (received_at, due.event_id)));
        }
        let full = pages.into_values().filter(|(events, _)| *events >= UNMATCHED);
        let view = Arc::new(View {
            taken_at,
            waiting,
            partial_from: full.map(|(_, last)| last).min(),
        });
        *self.view.lock() = Some(Arc::clone(&view));
        Ok(view)
    }

    /// Returns the first delivery of a lane that has not ended, and removes those that have.
    async fn next(&self, tenant: &Tenant, lane: &str) -> platform::Result<Option<Waiting>> {
        for _ in 0..MAX_REMOVALS {
            let Some(first) = self.lanes.first(tenant, lane).await? else {
                return Ok(None);
            };
            let has_ended = match self.deliveries.find(tenant, &first.delivery_id).await? {
                Some(delivery) => delivery.status.is_final(),
                // Its event is matched again, unless it or the subscription is gone.
                None => self.clock.now().millis_since(first.place.received_at) > MAX_HOLD_MS,
            };
            if !has_ended {
                return Ok(Some(first));
            }
            self.lanes.leave(tenant, &first.place).await?;
        }
        Err(platform::Error::unavailable(
            "many deliveries of a lane have ended",
        ))
    }

    /// Removes a delivery from its lane, and signals the run of the next one.
    pub async fn leave(&self, context: ActivityContext, place: LanePlace) -> Result<(), Failure> {
        let tenant = &context.tenant;
        self.lanes.leave(tenant, &place).await?;
        let Some(next) = self.next(tenant, &place.lane).await? else {
            return Ok(());
        };
        let (engine, sender) = (context.engine()?, format!("run:{}", context.run_id));
        let mut before = None;
        loop {
            // A delivery without a record looks for its turn when its run starts.
            let run = self.deliveries.find(tenant, &next.delivery_id).await?;
            let Some(run) = run
                .filter(|delivery| !delivery.status.is_final())
                .and_then(|delivery| delivery.workflow_run_id)
                .filter(|run| before.as_ref() != Some(run))
            else {
                return Ok(());
            };
            match engine.signal(tenant, &run, TURN, &Payload::null(), &sender).await {
                // It continued as another run, or is not written yet and looks for itself.
                Err(refusal) if matches!(refusal.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                    before = Some(run);
                }
                sent => return Ok(sent?),
            }
        }
    }
}
