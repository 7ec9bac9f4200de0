//! Decides from which tier a query reads a table: from its segments, or from a native copy, which is faster.
//!
//! A copy is made in the background at the second read of the same rows of a table, by a child of its own. It
//! is stored among the cached segments, within their size limit, and evicted like them. Without it, queries
//! read the segments. Lambda functions make no copies, because they are suspended after each answer.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use platform::{Error, Result, Tenant};
use tempfile::TempDir;
use tracing::{debug, warn};

use super::files::SegmentFiles;
use crate::engine::{Engine, Scope};
use crate::schema::manifest::TableVersion;
use crate::store::file_cache::Pin;
use crate::tables::native::{Tiers, file_name};

/// Reads of the same rows at which they are copied.
const READS: u32 = 2;
/// Smaller tables gain nothing, because a copy has at least this size.
const MIN_BYTES: u64 = 64 * 1_024;
/// Most tables whose reads are counted.
const MAX_COUNTED: usize = 4_096;

/// The native copies of all stores, and the reads of tables that have none.
pub(super) struct Copies {
    files: SegmentFiles,
    engine: Engine,
    max_table_bytes: u64,
    /// Number of reads, by the name of the copy.
    reads: Mutex<HashMap<String, u32>>,
    /// Held while a copy is made: one at a time, so that queries keep most of the machine.
    making: tokio::sync::Mutex<()>,
}

/// What a query reads its tables from.
pub(super) struct Sources<'a> {
    pub(super) tiers: Tiers,
    /// Tables whose segments the query reads.
    pub(super) of_segments: Vec<&'a TableVersion>,
    /// A file that is removed or replaced while the child reads it stays readable for the child.
    pub(super) copies: Vec<Pin>,
}

impl Copies {
    /// Makes copies of tables of at most `max_table_bytes` of segments.
    pub(super) fn new(files: SegmentFiles, engine: Engine, max_table_bytes: u64) -> Self {
        Self {
            // Leaves room for others.
            max_table_bytes: max_table_bytes.min(files.cache.max_bytes() / 4),
            files,
            engine,
            reads: Mutex::default(),
            making: tokio::sync::Mutex::default(),
        }
    }

    /// Chooses the source of each table: its copy, if it exists.
    pub(super) fn sources<'a>(&self, tables: &[&'a TableVersion]) -> Sources<'a> {
        let mut tiers = Tiers::default();
        let (mut copies, mut of_segments) = (Vec::new(), Vec::new());
        for table in tables {
            match self.find(table) {
                Some(copy) => {
                    tiers.use_copy(table);
                    copies.push(copy);
                }
                None => of_segments.push(*table),
            }
        }
        Sources {
            tiers,
            of_segments,
            copies,
        }
    }

    /// Discards the copies of tables after an error that they may have caused.
    pub(super) fn discard(&self, tables: &[&TableVersion], error: &Error) {
        warn!(%error, "copies of tables are discarded, because a query over them failed");
        for table in tables {
            let name = file_name(table);
            self.files.cache.discard(&name);
            // Not counted again, because the same error may repeat.
            self.lock().insert(name, READS);
        }
    }

    /// Counts a read of each table, and starts the copying of tables that were read often enough.
    pub(super) fn count_reads(self: &Arc<Self>, tenant: &Tenant, store: &str, tables: &[&TableVersion]) {
        for table in tables.iter().filter(|table| self.is_copied(table)) {
            let name = file_name(table);
            if self.find(table).is_some() {
                // So that after an eviction the reads are counted from zero.
                self.lock().remove(&name);
            } else if self.is_due(&name) {
                let (copies, tenant) = (Arc::clone(self), tenant.clone());
                let (store, table) = (store.to_owned(), (*table).clone());
                tokio::spawn(async move {
                    let rows = table.row_count();
                    match copies.make(&tenant, &store, &table, &name).await {
                        Ok(()) => debug!(store, table = table.name, rows, "a table was copied for queries"),
                        Err(error) => {
                            warn!(%error, store, table = table.name, rows, "a table could not be copied for queries");
                        }
                    }
                });
            }
        }
    }

    fn find(&self, table: &TableVersion) -> Option<Pin> {
        let is_copied = self.is_copied(table);
        is_copied.then(|| self.files.cache.find(&file_name(table), None))?
    }

    /// Returns whether a table of this size is copied.
    fn is_copied(&self, table: &TableVersion) -> bool {
        (MIN_BYTES..=self.max_table_bytes).contains(&table.bytes())
    }

    /// Counts a read; returns true once, when the copy is due.
    fn is_due(&self, name: &str) -> bool {
        let mut reads = self.lock();
        if reads.len() >= MAX_COUNTED && !reads.contains_key(name) {
            reads.clear();
        }
        let count = reads.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count == READS
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.reads.lock()
    }

    async fn make(&self, tenant: &Tenant, store: &str, table: &TableVersion, name: &str) -> Result<()> {
        let _one_at_a_time = self.making.lock().await;
        let _files = self.files.of(tenant, store, [table]).await?;
        let folder = TempDir::new_in(&self.files.staging).map_err(Error::internal)?;
        let output = folder.path().join(name);
        let scope = Scope {
            account: tenant.account(),
            key: "",
            tables: &[],
            directory: self.files.cache.directory(),
        };
        self.engine.write_copy(scope, table, &output).await?;
        let adopted = self.files.cache.adopt(name, &output);
        adopted.map(drop).map_err(Error::internal)
    }
}
