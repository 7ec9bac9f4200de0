//! How many events an ingest channel took in a window of time.

use crate::error::Result;
use crate::records::{Table, keys};
use crate::tenant::Tenant;

/// How long a count is kept after its window, in seconds.
const LIFE_SECONDS: i64 = 3_600;

/// The counts, in the table of events.
#[derive(Clone)]
pub struct IngestCounts {
    table: Table,
}

impl IngestCounts {
    /// In the table of events.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Adds to the count of a window, which begins at a Unix time in seconds; the new count.
    pub async fn add(&self, tenant: &Tenant, channel: &str, window: i64, count: u64) -> Result<u64> {
        let key = keys::ingest_count(tenant, channel, window);
        self.table
            .add(&key, "received", count, window + LIFE_SECONDS)
            .await
    }
}
