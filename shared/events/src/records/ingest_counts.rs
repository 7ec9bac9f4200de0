//! Counts the events that an ingest channel accepts in a window of time.

use platform::error::Result;
use platform::records::{Table, keys};
use platform::tenant::Tenant;

/// How long a count is kept after its window, in seconds.
const LIFE_SECONDS: i64 = 3_600;

#[derive(Clone)]
pub struct IngestCounts {
    table: Table,
}

impl IngestCounts {
    /// Stores counts in the table of events.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Adds to the count of a window, which starts at a Unix time in seconds; returns the new count.
    pub async fn add(&self, tenant: &Tenant, channel: &str, window: i64, count: u64) -> Result<u64> {
        let key = keys::ingest_count(tenant, channel, window);
        self.table
            .add(&key, "received", count, window + LIFE_SECONDS)
            .await
    }
}
