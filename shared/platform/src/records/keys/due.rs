//! Partitions of the index `due`: a kind of unfinished work each, and several where there may be much of it.

use sha2::{Digest as _, Sha256};

/// The kinds of unfinished work that runs are: several, because one partition of an index takes 1,000 writes
/// a second.
pub const DUE_RUNS: [&str; 8] = [
    "runs-0", "runs-1", "runs-2", "runs-3", "runs-4", "runs-5", "runs-6", "runs-7",
];

/// The kind of unfinished work that a run is: by a hash of its id.
pub(crate) fn due_runs(run: &str) -> &'static str {
    shard_of(run, DUE_RUNS)
}

/// The kinds of unfinished work that the removal of ended runs is.
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

pub(crate) fn run_removals(run: &str) -> &'static str {
    shard_of(run, RUN_REMOVALS)
}

/// The kinds of unfinished work that events are: several, because one partition of an index takes 1,000
/// writes a second.
pub const DUE_EVENTS: [&str; 8] = [
    "events-0", "events-1", "events-2", "events-3", "events-4", "events-5", "events-6", "events-7",
];

/// The kind of unfinished work that an event is: by a hash of its id.
pub(crate) fn due_events(event: &str) -> &'static str {
    shard_of(event, DUE_EVENTS)
}

/// The kind of unfinished work that the removal of events with details in the bucket is: few are so large.
pub const EVENT_REMOVALS: &str = "event-removals";

fn shard_of(id: &str, shards: [&'static str; 8]) -> &'static str {
    // The last characters of ids are hexadecimal digits: one shard had three of these sixteen, another one.
    let [hash, ..] = <[u8; 32]>::from(Sha256::digest(id.as_bytes()));
    let [first, ..] = shards;
    let shard = usize::from(hash) % shards.len();
    shards.get(shard).copied().unwrap_or(first)
}
