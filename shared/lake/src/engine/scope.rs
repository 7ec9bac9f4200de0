//! Names the files of one version's tables.

use std::path::{Path, PathBuf};

use crate::schema::manifest::{Segment, TableVersion};
use crate::tables::bound::BoundTable;
use crate::tables::native::{self, Tier, TieredTable};

/// One version's tables, and the folder of its files.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Owner of the version; accounts share the children.
    pub account: &'a str,
    /// Identifies the version among all tenants, such as `<store>/<version>`. A child bound to a key is
    /// reused for that key, with the tables that it was bound to.
    pub key: &'a str,
    pub tables: &'a [TableVersion],
    /// The folder of the segments' files, each `<segment id>.parquet`. While a statement runs, the files of
    /// the tables that it needs must exist; the others need not.
    pub directory: &'a Path,
}

impl Scope<'_> {
    /// Returns the path of a segment's file.
    pub(crate) fn file(&self, segment: &Segment) -> PathBuf {
        self.directory.join(format!("{}.parquet", segment.segment_id))
    }

    /// Returns the path of a table's native copy, which need not exist; see [`Engine::write_copy`].
    ///
    /// [`Engine::write_copy`]: crate::Engine::write_copy
    pub fn copy(&self, table: &TableVersion) -> PathBuf {
        self.directory.join(native::file_name(table))
    }

    /// Returns all files that statements over the version may read, which need not exist.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for table in self.tables {
            files.extend(table.segments.iter().map(|segment| self.file(segment)));
            if !table.segments.is_empty() {
                files.extend(native::files(self.directory, table));
            }
        }
        files
    }

    /// Returns a table with its files.
    pub(crate) fn bound(&self, table: &TableVersion) -> BoundTable {
        BoundTable {
            name: table.name.clone(),
            columns: table.columns.clone(),
            files: table.segments.iter().map(|segment| self.file(segment)).collect(),
        }
    }

    /// Returns a table as one of its tiers has it.
    pub(crate) fn tiered(&self, table: &TableVersion, tier: Tier) -> TieredTable {
        TieredTable {
            table: self.bound(table),
            copy: (tier == Tier::Native).then(|| self.copy(table)),
        }
    }
}
