//! Names the partitions of the index `due`: one for each kind of unfinished work, or several for frequent
//! kinds.

use sha2::{Digest as _, Sha256};

/// Several partitions, because one partition of an index accepts 1,000 writes a second.
pub const DUE_RUNS: [&str; 8] = [
    "runs-0", "runs-1", "runs-2", "runs-3", "runs-4", "runs-5", "runs-6", "runs-7",
];

/// Chooses the partition by a hash of the run id.
pub fn due_runs(run: &str) -> &'static str {
    shard_of(run, DUE_RUNS)
}

/// Partitions of ended runs to remove.
pub const RUN_REMOVALS: [&str; 8] = [
    "run-removals-0",
    "run-removals-1",
    "run-removals-2",
    "run-removals-3",
    "run-removals-4",
    "run-removals-5",
    "run-removals-6",
    "run-removals-7",
];

pub fn run_removals(run: &str) -> &'static str {
    shard_of(run, RUN_REMOVALS)
}

/// Several partitions, because one partition of an index accepts 1,000 writes a second.
pub const DUE_EVENTS: [&str; 8] = [
    "events-0", "events-1", "events-2", "events-3", "events-4", "events-5", "events-6", "events-7",
];

/// Chooses the partition by a hash of the event id.
pub fn due_events(event: &str) -> &'static str {
    shard_of(event, DUE_EVENTS)
}

/// Partition of events to remove with their details in the bucket. One is enough, because few details are so
/// large.
pub const EVENT_REMOVALS: &str = "event-removals";

fn shard_of(id: &str, shards: [&'static str; 8]) -> &'static str {
    // Hashed, because ids are not spread evenly over their last hexadecimal digit.
    let [hash, ..] = <[u8; 32]>::from(Sha256::digest(id.as_bytes()));
    let [first, ..] = shards;
    let shard = usize::from(hash) % shards.len();
    shards.get(shard).copied().unwrap_or(first)
}
