//! Makes and finds native copies of tables, which queries read faster than segments.
//!
//! A copy is made in the background at the second read of the same rows of a table, by a child of its own. It
//! is stored among the cached segments, within their size limit, and evicted like them. Without it, queries
//! read the segments. Lambda functions make no copies, because they are suspended after each answer.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use platform::{Result, Tenant};
use tempfile::TempDir;
use tracing::{debug, warn};

use super::{DataStores, Loaded};
use crate::engine::Scope;
use crate::schema::manifest::TableVersion;
use crate::store::file_cache::Pin;
use crate::tables::native::file_name;

/// Reads of the same rows at which they are copied.
const READS: u32 = 2;
/// Smaller tables gain nothing, because a copy has at least this size.
const MIN_BYTES: u64 = 64 * 1_024;
/// Most tables whose reads are counted.
const MAX_COUNTED: usize = 4_096;

/// Counts the reads of tables that have no native copy.
pub(super) struct Copies {
    max_table_bytes: u64,
    /// Number of reads, by the name of the copy.
    reads: Mutex<HashMap<String, u32>>,
    /// Held while a copy is made: one at a time, so that queries keep most of the machine.
    making: tokio::sync::Mutex<()>,
}

impl Copies {
    pub(super) fn new(max_table_bytes: u64) -> Self {
        Self {
            max_table_bytes,
            reads: Mutex::default(),
            making: tokio::sync::Mutex::default(),
        }
    }

    /// Counts a read; returns true once, when the copy is due.
    fn count(&self, name: &str) -> bool {
        let mut reads = self.lock();
        if reads.len() >= MAX_COUNTED && !reads.contains_key(name) {
            reads.clear();
        }
        let count = reads.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count == READS
    }

    fn forget(&self, name: &str) {
        self.lock().remove(name);
    }

    /// Prevents another copy: the count is already past the read at which a copy is due.
    fn give_up(&self, name: String) {
        self.lock().insert(name, READS);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.reads.lock()
    }
}

impl DataStores {
    /// Returns the native copy of a table, if it exists.
    pub(super) fn find_copy(&self, table: &TableVersion) -> Option<Pin> {
        if !self.may_be_copied(table) {
            return None;
        }
        self.inner.segments.find(&file_name(table), None)
    }

    pub(super) fn discard_copies(&self, tables: &[&TableVersion]) {
        for table in tables {
            let name = file_name(table);
            self.inner.segments.discard(&name);
            // Not counted again, because the same error may repeat.
            self.inner.copies.give_up(name);
        }
    }

    /// Counts a read of each table, and starts the copying of tables that were read often enough.
    pub(super) fn count_reads(&self, tenant: &Tenant, loaded: &Loaded, tables: &[&TableVersion]) {
        for table in tables.iter().filter(|table| self.may_be_copied(table)) {
            let name = file_name(table);
            if self.inner.segments.find(&name, None).is_some() {
                // So that after an eviction the reads are counted from zero.
                self.inner.copies.forget(&name);
            } else if self.inner.copies.count(&name) {
                let (stores, tenant) = (self.clone(), tenant.clone());
                let (store, table) = (loaded.manifest.store_id.clone(), (*table).clone());
                tokio::spawn(async move {
                    let rows = table.row_count();
                    match stores.make_copy(&tenant, &store, &table, &name).await {
                        Ok(()) => debug!(store, table = table.name, rows, "a table was copied for queries"),
                        Err(error) => {
                            warn!(%error, store, table = table.name, rows, "a table could not be copied for queries");
                        }
                    }
                });
            }
        }
    }

    /// Returns whether a copy of the table would be useful and leave room for others.
    fn may_be_copied(&self, table: &TableVersion) -> bool {
        let (bytes, copies) = (table.bytes(), &self.inner.copies);
        let most = copies.max_table_bytes.min(self.inner.segments.max_bytes() / 4);
        (MIN_BYTES..=most).contains(&bytes)
    }

    async fn make_copy(&self, tenant: &Tenant, store: &str, table: &TableVersion, name: &str) -> Result<()> {
        let _one_at_a_time = self.inner.copies.making.lock().await;
        let _files = self.files(tenant, store, [table]).await?;
        let folder = TempDir::new_in(&self.inner.staging).map_err(platform::Error::internal)?;
        let output = folder.path().join(name);
        let scope = Scope {
            account: tenant.account(),
            key: "",
            tables: &[],
            directory: self.inner.segments.directory(),
        };
        self.inner.engine.write_copy(scope, table, &output).await?;
        let adopted = self.inner.segments.adopt(name, &output);
        adopted.map(drop).map_err(platform::Error::internal)
    }
}
