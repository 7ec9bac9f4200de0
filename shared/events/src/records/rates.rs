//! Gives the requests to a rate-limited receiver their seconds.
//!
//! One record of a subscription has the next second with a free place. A process reserves places in batches
//! that grow while it needs many, so the record is written at most about ten times a second by each process,
//! however high the rate is. An unused place is lost, never used later: no second has more requests than the
//! rate. A request that must wait knows its second at once, so it holds no worker meanwhile and is made in
//! the order of the requests.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use platform::clock::UtcTime;
use platform::error::Result;
use platform::races::{RacePolicy, Races};
use platform::records::{Condition, Table, Written, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

/// How long a record is kept after its second, in seconds.
const LIFE_SECONDS: i64 = 24 * 3_600;
/// A batch is at most this part of a second's places.
const BATCHES_OF_SECOND: u32 = 10;
/// Time within which another reservation makes the next batch larger, in milliseconds.
const BUSY_MS: u64 = 1_000;
/// Subscriptions whose batches a process holds.
const MAX_HELD: usize = 1_000;

#[derive(Serialize, Deserialize)]
struct NextSecond {
    version: u64,
    rate: u32,
    /// In Unix seconds.
    second: i64,
    used: u32,
    /// In Unix seconds.
    expires_at: i64,
}

/// Second in which a request may be made, under a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// In Unix seconds.
    pub second: i64,
    pub rate: u32,
}

impl Slot {
    /// Whether the request may be made now.
    pub fn is_now(&self, rate: u32, now: UtcTime) -> bool {
        self.rate == rate && self.second == now.as_seconds()
    }

    /// Returns the time until the second begins, in milliseconds.
    pub fn lead_ms(&self, now: UtcTime) -> u64 {
        let start = UtcTime::EPOCH.plus_ms(u64::try_from(self.second * 1_000).unwrap_or_default());
        start.millis_since(now)
    }
}

/// Places that a process reserved and has not used.
#[derive(Default)]
struct Held {
    slot: Option<Slot>,
    left: u32,
    batch: u32,
    reserved_at: Option<UtcTime>,
}

#[derive(Clone)]
pub struct Rates {
    table: Table,
    held: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<Held>>>>>,
}

impl Rates {
    /// Stores the seconds in the table of events.
    pub fn new(table: Table) -> Self {
        Self {
            table,
            held: Arc::default(),
        }
    }

    /// Reserves a place for a request to the receiver of a subscription: in this second if it has one, else
    /// in the next one that has.
    pub async fn reserve(
        &self,
        tenant: &Tenant,
        subscription_id: &str,
        rate: u32,
        now: UtcTime,
    ) -> Result<Slot> {
        let held = self.held_of(&format!("{tenant}/{subscription_id}"));
        let mut held = held.lock().await;
        let is_usable = |slot: &Slot| slot.rate == rate && slot.second >= now.as_seconds();
        if held.left == 0 || !held.slot.as_ref().is_some_and(is_usable) {
            let is_busy = held.reserved_at.is_some_and(|at| now.millis_since(at) < BUSY_MS);
            held.batch = match is_busy {
                true => (held.batch * 2).clamp(1, (rate / BATCHES_OF_SECOND).max(1)),
                false => 1,
            };
            let (slot, places) = self
                .take(tenant, subscription_id, (rate, held.batch), now)
                .await?;
            held.slot = Some(slot);
            held.left = places;
            held.reserved_at = Some(now);
        }
        held.left -= 1;
        held.slot
            .ok_or_else(|| platform::Error::internal("a batch of places has no second"))
    }

    fn held_of(&self, name: &str) -> Arc<tokio::sync::Mutex<Held>> {
        let mut all = self.held.lock();
        if all.len() >= MAX_HELD && !all.contains_key(name) {
            all.retain(|_, held| Arc::strong_count(held) > 1);
        }
        Arc::clone(all.entry(name.to_owned()).or_default())
    }

    /// Takes up to `wanted` places of the next second that has any.
    async fn take(
        &self,
        tenant: &Tenant,
        subscription_id: &str,
        (rate, wanted): (u32, u32),
        now: UtcTime,
    ) -> Result<(Slot, u32)> {
        let key = keys::delivery_rate(tenant, subscription_id);
        let mut races = Races::new(&RacePolicy::RECORD, "the rate of a subscription");
        loop {
            let before: Option<NextSecond> = self.table.find(&key).await?;
            let condition = match &before {
                Some(before) => Condition::NumberIs("version", before.version),
                None => Condition::Absent,
            };
            let version = before.as_ref().map_or(0, |before| before.version) + 1;
            let (second, used) = next_free(before.as_ref(), rate, now.as_seconds());
            let places = wanted.min(rate - used);
            let next = NextSecond {
                version,
                rate,
                second,
                used: used + places,
                expires_at: second + LIFE_SECONDS,
            };
            if self.table.put(&key, &next, condition).await? == Written::Done {
                return Ok((Slot { second, rate }, places));
            }
            races.lost().await?;
        }
    }
}

/// Returns the next second with a free place, and its used places. A changed rate begins with the next
/// second.
fn next_free(before: Option<&NextSecond>, rate: u32, now: i64) -> (i64, u32) {
    match before {
        None => (now, 0),
        Some(before) if before.rate != rate => (now + 1, 0),
        Some(before) if before.second < now => (now, 0),
        Some(before) if before.used < rate => (before.second, before.used),
        Some(before) => (before.second + 1, 0),
    }
}
