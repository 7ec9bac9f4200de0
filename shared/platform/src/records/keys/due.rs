//! Names the partitions of the index `due`: several for each frequent kind of unfinished work, one for rare
//! kinds.

use sha2::{Digest as _, Sha256};

use crate::queue::Priority;

/// Partitions of each frequent kind. A partition of an index takes 1,000 write units a second, and an index
/// that is at its limit refuses the write of its table. So many take more than the quota of a table, which is
/// 40,000. Readers read all, so a later version can have more; with fewer, work would be forgotten.
pub const DUE_SHARDS: u8 = 64;

/// Partitions of the runs of high and of low priority.
const PRIORITY_SHARDS: u8 = 8;

/// A frequent kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueKind {
    /// Unmatched events.
    Events,
    /// Batches of events that are not all written.
    EventBatches,
    /// Runs of a priority with a timer, an attempt or a lost hint.
    Runs(Priority),
    /// Ended runs to remove in steps.
    RunRemovals,
}

impl DueKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::EventBatches => "event-batches",
            Self::Runs(Priority::High) => "high-runs",
            Self::Runs(Priority::Normal) => "runs",
            Self::Runs(Priority::Low) => "low-runs",
            Self::RunRemovals => "run-removals",
        }
    }

    /// Number of partitions. Each look reads all, so the kinds that are rarer have fewer.
    const fn partitions(self) -> u8 {
        match self {
            Self::Runs(Priority::High | Priority::Low) => PRIORITY_SHARDS,
            _ => DUE_SHARDS,
        }
    }

    /// Chooses the partition by a hash of the id.
    pub fn shard_of(self, id: &str) -> String {
        // Hashed, because ids are not spread evenly over their last hexadecimal digit.
        let [hash, ..] = <[u8; 32]>::from(Sha256::digest(id.as_bytes()));
        self.name(hash % self.partitions())
    }

    /// Returns every partition.
    pub fn shards(self) -> impl Iterator<Item = String> {
        (0..self.partitions()).map(move |number| self.name(number))
    }

    /// Whether a partition is of this kind.
    pub fn has(self, shard: &str) -> bool {
        let number = shard
            .strip_prefix(self.as_str())
            .and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| number.parse::<u8>().is_ok())
    }

    fn name(self, number: u8) -> String {
        format!("{}-{number}", self.as_str())
    }
}

/// Partition of events to remove with their details in the bucket. One is enough, because few details are so
/// large.
pub const EVENT_REMOVALS: &str = "event-removals";
