//! Changes the schema of a store: plans, prepares the rows, commits. Every schema change uses this path.
//!
//! The plan is pure and is made again after a lost race. So two independent changes both succeed, and the
//! second of two contradictory changes fails with a clear error. Files that were already rewritten are not
//! rewritten again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use platform::{Error, Result, Tenant, UtcTime, ids};
use tempfile::TempDir;

use super::commit::{Change, store_races};
use super::{Author, DataStores, Loaded, keys};
use crate::jobs::rewrite::File;
use crate::records::stores::VersionChange;
use crate::schema::alter::Altered;
use crate::schema::difference::schema_difference;
use crate::schema::manifest::{Manifest, ManifestColumn, Segment, TableVersion};
use crate::schema::plan::SchemaPlan;

/// Most changes listed in a generated message.
const MAX_LISTED: usize = 3;

/// Rewritten segments of one table for one pair of old and new columns, by the id of the old segment.
#[derive(Default)]
struct Rewritten {
    from: Vec<ManifestColumn>,
    to: Vec<ManifestColumn>,
    segments: HashMap<String, Segment>,
}

/// Rewritten files of all attempts.
struct RewriteCache<'a> {
    tenant: &'a Tenant,
    folder: TempDir,
    now: UtcTime,
    /// By table id.
    rewritten: HashMap<u32, Rewritten>,
}

impl DataStores {
    /// Changes the schema according to `plan`; makes no version if nothing changes.
    pub(super) async fn change_schema(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        message: Option<String>,
        mut plan: impl FnMut(&Manifest, UtcTime) -> Result<SchemaPlan>,
    ) -> Result<Loaded> {
        let now = self.inner.clock.now();
        let mut cache = RewriteCache {
            tenant,
            folder: tempfile::tempdir_in(&self.inner.files.staging).map_err(Error::internal)?,
            now,
            rewritten: HashMap::new(),
        };
        let mut races = store_races();
        loop {
            let base = self.load(tenant, store).await?;
            let SchemaPlan {
                mut manifest,
                altered,
            } = plan(&base.manifest, now)?;
            let changes = schema_difference(&base.manifest, &manifest);
            if changes.is_empty() {
                return Ok(base);
            }
            for altered in &altered {
                let table = self
                    .rewrite_and_check(&mut cache, &base.manifest, altered)
                    .await?;
                replace(&mut manifest, table);
            }
            manifest.schema_version += 1;
            let change = Change {
                manifest,
                message: message.clone().unwrap_or_else(|| summary(&changes)),
                import: None,
            };
            if let Some(committed) = self.commit(tenant, author, &base, change).await? {
                return Ok(committed);
            }
            races.lost().await?;
        }
    }

    /// Rewrites the files of a table if needed, and checks its new rules. Returns the resulting table.
    async fn rewrite_and_check(
        &self,
        cache: &mut RewriteCache<'_>,
        base: &Manifest,
        altered: &Altered,
    ) -> Result<TableVersion> {
        let mut tables = base.tables.iter();
        let before = tables.find(|table| table.table_id == altered.table.table_id);
        let before = before.ok_or_else(|| Error::internal("an altered table is not in the manifest"))?;
        let store = &base.store_id;
        let files = self.inner.files.of(cache.tenant, store, [before]).await?;
        let mut table = altered.table.clone();
        let mut paths = files.paths();
        if altered.rewrite.is_some() {
            let segments = self.rewrite(cache, store, before, altered, &paths).await?;
            let folder = cache.folder.path();
            paths = segments.iter().map(|segment| output(folder, segment)).collect();
            table.segments = segments;
        }
        if !altered.required.is_empty() || !altered.keys.is_empty() {
            let account = cache.tenant.account();
            self.inner.engine.check_rows(account, altered, paths).await?;
        }
        Ok(table)
    }

    /// Returns the new segments of a table, including those of earlier attempts.
    async fn rewrite(
        &self,
        cache: &mut RewriteCache<'_>,
        store: &str,
        before: &TableVersion,
        altered: &Altered,
        files: &[PathBuf],
    ) -> Result<Vec<Segment>> {
        let done = cache.rewritten.entry(before.table_id).or_default();
        if done.from != before.columns || done.to != altered.table.columns {
            *done = Rewritten {
                from: before.columns.clone(),
                to: altered.table.columns.clone(),
                segments: HashMap::new(),
            };
        }
        let mut rows_before = 0;
        let (mut missing, mut old_ids) = (Vec::new(), Vec::new());
        for (segment, path) in before.segments.iter().zip(files) {
            let id = &segment.segment_id;
            if !done.segments.contains_key(id) {
                missing.push(File {
                    paths: vec![path.clone()],
                    rows_before,
                    new_id: ids::new_id(cache.now),
                });
                old_ids.push(id.clone());
            }
            rows_before += segment.rows;
        }
        if !missing.is_empty() {
            let folder = cache.folder.path();
            let segments = self
                .inner
                .engine
                .rewrite(
                    cache.tenant.account(),
                    before,
                    altered,
                    missing,
                    folder,
                    cache.now,
                )
                .await?;
            for (old_id, segment) in old_ids.into_iter().zip(segments) {
                let key = keys::segment_key(cache.tenant, store, &segment.segment_id);
                self.inner
                    .objects
                    .put_file(&key, &output(folder, &segment))
                    .await?;
                done.segments.insert(old_id, segment);
            }
        }
        let new = before.segments.iter().map(|segment| {
            let new = done.segments.get(&segment.segment_id).cloned();
            new.ok_or_else(|| {
                Error::internal(format!("the segment '{}' was not rewritten", segment.segment_id))
            })
        });
        new.collect()
    }
}

fn output(folder: &Path, segment: &Segment) -> PathBuf {
    folder.join(format!("{}.parquet", segment.segment_id))
}

fn replace(manifest: &mut Manifest, table: TableVersion) {
    for old in &mut manifest.tables {
        if old.table_id == table.table_id {
            *old = table;
            return;
        }
    }
}

/// Builds the message of a version whose author gave none.
fn summary(changes: &[VersionChange]) -> String {
    let listed = changes
        .iter()
        .take(MAX_LISTED)
        .map(|change| change.message.as_str());
    let listed = listed.collect::<Vec<_>>().join("; ");
    match changes.len().saturating_sub(MAX_LISTED) {
        0 => listed,
        more => format!("{listed}; and {more} more"),
    }
}
