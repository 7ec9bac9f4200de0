//! Keys of the listings of runs.

use super::{pk, shard_of};
use crate::clock::UtcTime;
use crate::tenant::Tenant;

/// Returns the partition of the runs of a shard.
pub fn runs(tenant: &Tenant, shard: u16) -> String {
    pk(tenant, &shard_of("runs", shard))
}

/// Returns the partition of those runs of a shard, given by its own partition, that share a value.
pub fn runs_by(runs: &str, what: &str, value: &str) -> String {
    format!("{runs}#{what}#{value}")
}

pub fn run_time(started: UtcTime, run: &str) -> String {
    format!("{started}#{run}")
}
