//! Compacts stores: merges many small segments of a table into few large ones, because each file costs a
//! query time.
//!
//! It makes a version like any change, with the rows of the version before; earlier versions keep their
//! segments.

use std::collections::HashMap;

use platform::{Error, Result, Tenant, ids};

use super::commit::{Change, store_races};
use super::steps::Step;
use super::{Author, DataStores, Loaded, keys};
use crate::jobs::rewrite;
use crate::schema::alter::{Altered, ValueSource};
use crate::schema::manifest::{Manifest, ManifestColumn, Segment, TableVersion};

/// A segment below this size is small. Reading one of this size takes some hundred milliseconds, and opening
/// any takes one millisecond.
const SMALL_BYTES: u64 = 32 * 1_024 * 1_024;
/// Most bytes of the small segments merged into one, so that an instance fetches and rewrites them in
/// seconds.
const MAX_GROUP_BYTES: u64 = 128 * 1_024 * 1_024;
/// Fewest segments that justify a version, unless they make a large one.
const MIN_GROUP: usize = 8;

/// Some segments of a table, and the new segment with their rows.
struct Merged {
    table_id: u32,
    columns: Vec<ManifestColumn>,
    old: Vec<String>,
    new: Segment,
}

impl DataStores {
    /// Merges the small segments of each table of a store; None if there is nothing to merge.
    pub async fn compact(&self, tenant: &Tenant, store: &str) -> Result<Option<Loaded>> {
        let author = Author {
            reference: "system".to_owned(),
        };
        let mut base = self.load(tenant, store).await?;
        let merged = self.merge(tenant, &base.manifest).await?;
        if !merged.is_empty() {
            self.reached(Step::CompactedSegmentsWritten);
        }
        let mut races = store_races();
        loop {
            let Some((manifest, message)) = compacted(&base.manifest, &merged) else {
                return Ok(None);
            };
            let change = Change {
                manifest,
                message,
                import: None,
            };
            if let Some(committed) = self.commit(tenant, &author, &base, change).await? {
                return Ok(Some(committed));
            }
            races.lost().await?;
            base = self.load(tenant, store).await?;
        }
    }

    /// Writes the merged segments of a version.
    async fn merge(&self, tenant: &Tenant, manifest: &Manifest) -> Result<Vec<Merged>> {
        let now = self.inner.clock.now();
        let store = &manifest.store_id;
        let mut merged = Vec::new();
        for table in &manifest.tables {
            for group in groups(&table.segments) {
                let folder = tempfile::tempdir_in(&self.inner.files.staging).map_err(Error::internal)?;
                let part = TableVersion {
                    segments: group.clone(),
                    ..table.clone()
                };
                let files = self.inner.files.of(tenant, store, [&part]).await?;
                let input = rewrite::File {
                    paths: files.paths(),
                    rows_before: 0,
                    new_id: ids::new_id(now),
                };
                let as_it_is = as_it_is(&part);
                let engine = &self.inner.engine;
                let segments = engine
                    .rewrite(
                        tenant.account(),
                        &part,
                        &as_it_is,
                        vec![input],
                        folder.path(),
                        now,
                    )
                    .await?;
                for new in segments {
                    let key = keys::segment_key(tenant, store, &new.segment_id);
                    let file = folder.path().join(format!("{}.parquet", new.segment_id));
                    self.inner.objects.put_file(&key, &file).await?;
                    merged.push(Merged {
                        table_id: table.table_id,
                        columns: table.columns.clone(),
                        old: group.iter().map(|segment| segment.segment_id.clone()).collect(),
                        new,
                    });
                }
            }
        }
        Ok(merged)
    }
}

/// Returns whether a table of this version has at least `at_segments` small segments.
pub(super) fn is_due(manifest: &Manifest, at_segments: u64) -> bool {
    manifest.tables.iter().any(|table| {
        let small = table.segments.iter();
        let small = small.filter(|segment| segment.bytes < SMALL_BYTES);
        small.count() as u64 >= at_segments
    })
}

/// Groups the small segments; returns the groups that are worth a merge into one segment each.
fn groups(segments: &[Segment]) -> Vec<Vec<Segment>> {
    let mut groups: Vec<(u64, Vec<Segment>)> = Vec::new();
    for segment in segments.iter().filter(|segment| segment.bytes < SMALL_BYTES) {
        match groups.last_mut() {
            Some((bytes, group)) if *bytes + segment.bytes <= MAX_GROUP_BYTES => {
                *bytes += segment.bytes;
                group.push(segment.clone());
            }
            _ => groups.push((segment.bytes, vec![segment.clone()])),
        }
    }
    let is_worth =
        |bytes: u64, count: usize| count >= MIN_GROUP || (count > 1 && bytes >= MAX_GROUP_BYTES / 2);
    let groups = groups
        .into_iter()
        .filter(|(bytes, group)| is_worth(*bytes, group.len()));
    groups.map(|(_, group)| group).collect()
}

/// Makes a rewrite that changes no value.
fn as_it_is(table: &TableVersion) -> Altered {
    let sources = table
        .columns
        .iter()
        .map(|column| ValueSource::Kept(column.field_id));
    Altered {
        rewrite: Some(sources.collect()),
        ..Altered::new(table.clone())
    }
}

/// Makes the next version with merged segments instead of the old ones, if all of a group's old segments
/// still exist. A table that was replaced or altered meanwhile stays unchanged. Returns None if nothing is
/// left to do.
fn compacted(base: &Manifest, merged: &[Merged]) -> Option<(Manifest, String)> {
    let mut manifest = base.clone();
    let mut done: HashMap<String, (usize, usize)> = HashMap::new();
    for table in &mut manifest.tables {
        for group in merged.iter().filter(|group| group.table_id == table.table_id) {
            let is_there = |id: &String| table.segments.iter().any(|segment| segment.segment_id == *id);
            if table.columns != group.columns || !group.old.iter().all(is_there) {
                continue;
            }
            let first = table
                .segments
                .iter()
                .position(|segment| group.old.contains(&segment.segment_id));
            table
                .segments
                .retain(|segment| !group.old.contains(&segment.segment_id));
            table
                .segments
                .insert(first.unwrap_or(0).min(table.segments.len()), group.new.clone());
            let (from, to) = done.entry(table.name.clone()).or_default();
            *from += group.old.len();
            *to += 1;
        }
    }
    let mut done: Vec<_> = done.into_iter().collect();
    done.sort();
    let parts = done
        .iter()
        .map(|(table, (from, to))| format!("{from} files of {table} into {to}"));
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| (manifest, format!("Compacted {}", parts.join(", "))))
}

#[cfg(test)]
mod tests {
    use platform::config::variables::COMPACT_AT_SEGMENTS;

    use super::*;

    fn sizes(of: &[u64]) -> Vec<usize> {
        let segments: Vec<_> = of
            .iter()
            .map(|mib| Segment {
                segment_id: "s".to_owned(),
                rows: 1,
                bytes: mib * 1_024 * 1_024,
                sha256: String::new(),
                columns: Default::default(),
            })
            .collect();
        groups(&segments).iter().map(Vec::len).collect()
    }

    #[test]
    fn a_due_store_gains_from_compaction() {
        assert_eq!(COMPACT_AT_SEGMENTS.default, 32);
        // Enough segments to make a table due, each of any small size: a merge leaves fewer.
        for mib in [0, 1, 4, 15, 20, 31] {
            assert!(!sizes(&[mib; 32]).is_empty(), "{mib} MiB");
        }
    }

    #[test]
    fn few_or_large_segments_stay() {
        assert_eq!(sizes(&[1; 7]), [0; 0]);
        assert_eq!(sizes(&[32; 40]), [0; 0]);
        assert_eq!(sizes(&[1; 8]), [8]);
        assert_eq!(sizes(&[31; 5]), [4]);
    }
}
