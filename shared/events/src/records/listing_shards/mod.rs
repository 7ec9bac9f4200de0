//! Spreads a project's listings over partitions.
//!
//! One partition of DynamoDB accepts 1,000 write units a second, and all runs, events and deliveries of a
//! project are in the same few listings. So a project can have several partitions for each: the **shards**. A
//! schedule sets their number from a time on. The shard of a record is derived from its id and its creation
//! time, so it never changes, and readers merge the shards of the times that they read.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use platform::records::{Condition, Order, Query, Table, Written, keys};
use platform::{Error, Result, Tenant, UtcTime};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum number of shards of a project. Readers read every shard.
pub const MAX_SHARDS: u16 = 64;
/// Maximum number of changes of a schedule.
const MAX_CHANGES: usize = 200;
/// Time from a change of the schedule to its effect, in milliseconds.
const LEAD_MS: u64 = 120_000;
/// A schedule is valid for records created up to this long after it was read, in milliseconds: less than
/// [`LEAD_MS`] by the possible difference between clocks.
const GOOD_FOR_MS: u64 = 60_000;
/// Maximum number of projects whose schedule a process caches.
const MAX_KNOWN: usize = 10_000;

/// Number of shards from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardChange {
    /// Compared with the creation time of a record.
    pub from: UtcTime,
    /// From 1 to [`MAX_SHARDS`].
    pub shards: u16,
}

/// Current and past numbers of shards of a project. Without a change there is one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardSchedule {
    revision: u64,
    /// Earliest first.
    changes: Vec<ShardChange>,
}

impl ShardSchedule {
    /// Returns the changes, earliest first.
    pub fn changes(&self) -> &[ShardChange] {
        &self.changes
    }

    fn at(&self, time: UtcTime) -> u16 {
        let last = self.changes.iter().rev().find(|change| change.from <= time);
        last.map_or(1, |change| change.shards)
    }

    pub fn shard_of(&self, id: &str, created: UtcTime) -> u16 {
        let shards = self.at(created);
        if shards <= 1 {
            return 0;
        }
        let [high, low, ..] = <[u8; 32]>::from(Sha256::digest(id.as_bytes()));
        u16::from_be_bytes([high, low]) % shards
    }

    /// Returns the shards with records created between two times, inclusive.
    pub fn shards_between(&self, from: UtcTime, until: UtcTime) -> Range<u16> {
        let within = self.changes.iter();
        let within = within.filter(|change| from <= change.from && change.from <= until);
        let most = within.map(|change| change.shards).max();
        0..self.at(from).max(most.unwrap_or(1))
    }

    /// Returns the shards with records of any time.
    pub fn all_shards(&self) -> Range<u16> {
        let most = self.changes.iter().map(|change| change.shards).max();
        0..most.unwrap_or(1)
    }
}

/// Builds the queries of a range of a listing in these shards.
pub fn in_order(
    shards: Range<u16>,
    pk: impl Fn(u16) -> String,
    index: &'static str,
    (low, high): (&str, &str),
    order: Order,
) -> Vec<Query> {
    let of_shard = |shard| {
        Query::partition(pk(shard))
            .index(index)
            .between(low, high)
            .order(order)
    };
    shards.map(of_shard).collect()
}

/// Schedules of all projects, for the listings of one table.
#[derive(Clone)]
pub struct ListingShards {
    table: Table,
    known: Arc<Mutex<HashMap<Tenant, Known>>>,
}

struct Known {
    good_until: UtcTime,
    schedule: Arc<ShardSchedule>,
}

impl ListingShards {
    pub fn new(table: Table) -> Self {
        Self {
            table,
            known: Arc::default(),
        }
    }

    /// Reads the current schedule, for readers.
    pub async fn current(&self, tenant: &Tenant) -> Result<ShardSchedule> {
        let found = self.table.find(&keys::listing_shards(tenant)).await?;
        Ok(found.unwrap_or_default())
    }

    /// Returns a schedule that places a record created at this time, for writers. It is read once a minute,
    /// measured by creation times: no later change affects an earlier record.
    pub async fn for_record(&self, tenant: &Tenant, created: UtcTime) -> Result<Arc<ShardSchedule>> {
        if let Some(known) = self.lock().get(tenant)
            && created < known.good_until
        {
            return Ok(Arc::clone(&known.schedule));
        }
        let schedule = Arc::new(self.current(tenant).await?);
        let mut known = self.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        let known = known.entry(tenant.clone()).or_insert_with(|| Known {
            good_until: UtcTime::EPOCH,
            schedule: Arc::clone(&schedule),
        });
        if known.schedule.revision <= schedule.revision {
            known.good_until = known.good_until.max(created.plus_ms(GOOD_FOR_MS));
            known.schedule = Arc::clone(&schedule);
        }
        Ok(schedule)
    }

    /// Changes the number of shards for records created two minutes after `now` or later. Returns the change
    /// in effect then, which is an earlier one if the number does not change.
    pub async fn change(&self, tenant: &Tenant, shards: u16, now: UtcTime) -> Result<Option<ShardChange>> {
        if !(1..=MAX_SHARDS).contains(&shards) {
            return Err(Error::invalid(format!(
                "A project has from 1 to {MAX_SHARDS} shards; {shards} is not among them."
            )));
        }
        let mut schedule = self.current(tenant).await?;
        let last = schedule.changes.last().copied();
        if last.map_or(1, |last| last.shards) == shards {
            return Ok(last);
        }
        if schedule.changes.len() >= MAX_CHANGES {
            return Err(Error::conflict(format!(
                "The number of shards was changed {MAX_CHANGES} times, which is the most."
            )));
        }
        let earliest = last.map_or(UtcTime::EPOCH, |last| last.from.plus_ms(1));
        let change = ShardChange {
            from: now.plus_ms(LEAD_MS).max(earliest),
            shards,
        };
        let unchanged = match schedule.revision {
            0 => Condition::Absent,
            revision => Condition::NumberIs("revision", revision),
        };
        schedule.revision += 1;
        schedule.changes.push(change);
        let key = keys::listing_shards(tenant);
        match self.table.put(&key, &schedule, unchanged).await? {
            Written::Done => Ok(Some(change)),
            Written::Refused { .. } | Written::Contended => Err(Error::conflict(
                "Another command changes the number of shards; look at it, and try again.",
            )),
        }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashMap<Tenant, Known>> {
        self.known.lock()
    }
}

#[cfg(test)]
mod tests;
