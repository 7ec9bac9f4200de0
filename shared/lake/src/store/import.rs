//! Imports rows into tables, all or none.
//!
//! Rows first become segments, one per table, checked for types and values. Then keys are checked against the
//! current version, even if values are wrong, so that a caller learns of all faults at once, and one commit
//! names the new segments. A lost race repeats the check of the keys and the commit; it repeats the staging
//! only if a table's columns changed meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use futures::future::try_join;
use platform::{Error, ErrorKind, Result, Tenant, UtcTime, ids};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tracing::warn;

use super::commit::{Change, store_races};
use super::steps::Step;
use super::{Author, DataStores, Loaded, keys};
use crate::engine::{ImportSession, Stage, Staged};
use crate::import::faults::{self, Fault};
use crate::import::file_format::FileFormat;
use crate::import::overlap::may_share_a_key;
use crate::import::rounding::Rounding;
use crate::records::stores::{CompletedImport, ImportMode, ImportRecord, ImportStatus};
use crate::schema::manifest::{Manifest, TableVersion};
use crate::sources::RemoteFile;

#[derive(Clone, Debug)]
pub struct Import {
    pub tables: Vec<ImportTable>,
    /// Whether existing rows stay.
    pub mode: ImportMode,
    /// Rounding of digits that a column cannot hold; None refuses them.
    pub rounding: Option<Rounding>,
    pub message: Option<String>,
    /// Whether the import runs after the response. Not possible for rows in the request.
    pub background: bool,
}

/// The table of an import and the source of its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportTable {
    /// Name of the table, ignoring case.
    pub table: String,
    pub source: ImportSource,
}

/// Source of a table's rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportSource {
    /// Rows in the request: a JSON array of row objects.
    #[serde(skip)]
    Inline(Bytes),
    /// A file among the project's artifacts.
    Artifact {
        /// Path, such as `out/sales.csv`.
        path: String,
        format: FileFormat,
    },
    /// A remote file.
    Remote {
        /// Fetched by [`ImportServices::sources`](super::ImportServices::sources).
        file: RemoteFile,
        format: FileFormat,
    },
}

/// A source's local file.
pub(super) struct ImportFile {
    pub(super) format: FileFormat,
    pub(super) file: PathBuf,
}

/// An import's rows, kept while its commit is repeated.
struct Staging<'a> {
    import: &'a Import,
    inputs: Vec<ImportFile>,
    folder: TempDir,
    started_at: UtcTime,
    /// By the table's name in lower case.
    tables: BTreeMap<String, StagedTable>,
}

/// A table's new segment, and the table version that it was made for.
struct StagedTable {
    table: TableVersion,
    staged: Staged,
}

impl DataStores {
    /// Imports rows. If the rows cause a failure, the import is recorded as failed. The returned record says
    /// whether the import has ended or continues in the background.
    pub async fn import(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        import: Import,
    ) -> Result<ImportRecord> {
        let started_at = self.inner.clock.now();
        let base = self.load(tenant, store).await?;
        let names = check(&base.manifest, &import)?;
        self.check_sources(tenant, &import)?;
        let record = ImportRecord {
            id: ids::new_id(started_at),
            store_id: store.to_owned(),
            status: ImportStatus::Pending,
            mode: import.mode,
            tables: names,
            message: import.message.clone(),
            error: None,
            errors: Vec::new(),
            rows_imported: BTreeMap::new(),
            version_id: None,
            started_at,
            completed_at: None,
        };
        if import.background {
            return self.enqueue(tenant, author, &import, record).await;
        }
        let run = self.run(tenant, author, base, &import, record.clone(), false);
        let ended = if self.inner.imports.queue.is_none() || import.has_inline() {
            run.await
        } else {
            let ended = tokio::time::timeout(self.inner.import_patience, run).await;
            let is_slow = match &ended {
                Ok(Err(error)) => error.kind() == ErrorKind::Timeout,
                Ok(Ok(_)) => false,
                Err(_) => true,
            };
            match ended {
                Ok(ended) if !is_slow => ended,
                _ => {
                    let record = ImportRecord {
                        status: ImportStatus::Running,
                        ..record
                    };
                    return self.enqueue(tenant, author, &import, record).await;
                }
            }
        };
        let error = match ended {
            Ok(completed) => return Ok(completed),
            Err(error) => error,
        };
        // Rows or files at fault make a failed import; after any other error, the request was not carried
        // out.
        if !matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Unprocessable) {
            return Err(error);
        }
        let failed = self.failed(record, &error);
        if let Err(cause) = self.inner.records.insert_failed_import(tenant, &failed).await {
            warn!(%cause, import = failed.id, "a failed import was not recorded");
        }
        let details = error
            .details()
            .map(|details| format!("{details} "))
            .unwrap_or_default();
        Err(error.with_details(format!(
            "{details}Nothing of the import {} is visible.",
            failed.id
        )))
    }

    /// Makes the record of a failed import.
    pub(super) fn failed(&self, record: ImportRecord, error: &Error) -> ImportRecord {
        let details = error.details().map(|details| format!(" {details}"));
        ImportRecord {
            status: ImportStatus::Failed,
            error: Some(format!("{}{}", error.message(), details.unwrap_or_default())),
            errors: error.row_errors().to_vec(),
            completed_at: Some(self.inner.clock.now()),
            ..record
        }
    }

    /// Runs an import. If an import with a job has already ended, returns its record.
    pub(super) async fn run(
        &self,
        tenant: &Tenant,
        author: &Author,
        mut base: Loaded,
        import: &Import,
        record: ImportRecord,
        has_job: bool,
    ) -> Result<ImportRecord> {
        let folder = tempfile::tempdir_in(&self.inner.files.staging).map_err(Error::internal)?;
        let mut staging = Staging {
            import,
            inputs: self.inputs(tenant, import, folder.path()).await?,
            folder,
            started_at: record.started_at,
            tables: BTreeMap::new(),
        };
        let mut races = store_races();
        loop {
            self.stage_and_check(tenant, &base, &mut staging).await?;
            let (manifest, rows_imported) = next_manifest(&base.manifest, &staging.tables, import.mode);
            let import_record = ImportRecord {
                status: ImportStatus::Completed,
                rows_imported,
                completed_at: Some(self.inner.clock.now()),
                ..record.clone()
            };
            let message = import.message.clone().unwrap_or_else(|| summary(&import_record));
            let change = Change {
                manifest,
                message,
                import: Some(CompletedImport {
                    record: import_record.clone(),
                    has_job,
                }),
            };
            if let Some(committed) = self.commit(tenant, author, &base, change).await? {
                self.hint_at_compaction(tenant, &committed.manifest).await;
                return Ok(ImportRecord {
                    version_id: Some(committed.record.version_id),
                    ..import_record
                });
            }
            let (store, id) = (&record.store_id, &record.id);
            let records = &self.inner.records;
            if has_job && records.find_import_job(tenant, store, id).await?.is_none() {
                return records.import(tenant, store, id).await;
            }
            races.lost().await?;
            base = self.load(tenant, &base.record.id).await?;
        }
    }

    /// Stages the tables that have no segment for the columns of `base`, and checks the keys of all. Fails
    /// with the faults of all tables.
    async fn stage_and_check(&self, tenant: &Tenant, base: &Loaded, staging: &mut Staging<'_>) -> Result<()> {
        // Held only while it is needed, because there are few children.
        let mut session = self.inner.engine.begin_import(tenant.account());
        let import = staging.import;
        let mut faults = Vec::new();
        let mut is_refused = false;
        for (wanted, input) in import.tables.iter().zip(&staging.inputs) {
            let table = table(&base.manifest, &wanted.table)?;
            let name = table.name.to_lowercase();
            let previous = staging.tables.remove(&name);
            let previous = previous.filter(|previous| previous.table.columns == table.columns);
            let is_uploaded = previous.is_some();
            let current = match previous {
                Some(previous) => previous,
                None => {
                    let stage = Stage {
                        table,
                        segment_id: &ids::new_id(staging.started_at),
                        directory: staging.folder.path(),
                        now: staging.started_at,
                        rounding: import.rounding,
                    };
                    StagedTable {
                        table: table.clone(),
                        staged: session.stage(stage, input.format, &input.file).await?,
                    }
                }
            };
            is_refused |= !current.staged.faults.is_empty();
            let check = self.check_keys(&mut session, tenant, base, table, &current.staged, import.mode);
            let keys = if is_uploaded || is_refused {
                check.await?
            } else {
                // Both at once: a segment that no version names does no harm.
                try_join(self.upload_segment(tenant, base, &current.staged), check)
                    .await?
                    .1
            };
            is_refused |= !keys.is_empty();
            faults.push(faults::merge(current.staged.faults.clone(), keys));
            staging.tables.insert(name, current);
        }
        match is_refused {
            true => Err(faults::refusal(&faults)),
            false => Ok(()),
        }
    }

    /// Uploads a new segment, which no version names yet.
    async fn upload_segment(&self, tenant: &Tenant, base: &Loaded, staged: &Staged) -> Result<()> {
        if let Some((segment, path)) = &staged.segment {
            let key = keys::segment_key(tenant, &base.record.id, &segment.segment_id);
            self.inner.objects.put_file(&key, path).await?;
            self.reached(Step::SegmentWritten);
        }
        Ok(())
    }

    async fn check_keys(
        &self,
        session: &mut ImportSession<'_>,
        tenant: &Tenant,
        base: &Loaded,
        table: &TableVersion,
        staged: &Staged,
        mode: ImportMode,
    ) -> Result<Vec<Fault>> {
        let Some((new, path)) = &staged.segment else {
            return Ok(Vec::new());
        };
        // Replaced rows cannot conflict with new rows; new rows can conflict with each other.
        let mut rivals = table.clone();
        rivals
            .segments
            .retain(|segment| mode == ImportMode::Append && may_share_a_key(table, new, segment));
        let existing = self.inner.files.of(tenant, &base.record.id, [&rivals]).await?;
        let existing = existing.link_into(path.parent().unwrap_or(path))?;
        session.check_keys(table, path, existing).await
    }
}

impl Import {
    /// Returns whether rows are in the request.
    pub(super) fn has_inline(&self) -> bool {
        self.tables
            .iter()
            .any(|table| matches!(table.source, ImportSource::Inline(_)))
    }
}

/// Checks the import's tables; returns their names as stored.
fn check(manifest: &Manifest, import: &Import) -> Result<Vec<String>> {
    let mut names = Vec::new();
    if import.tables.is_empty() {
        return Err(Error::invalid_field("tables", "must name at least one table."));
    }
    for wanted in &import.tables {
        let table = table(manifest, &wanted.table)?;
        if names.contains(&table.name) {
            return Err(Error::invalid(format!(
                "The table '{}' is named twice; case does not count.",
                table.name
            )));
        }
        names.push(table.name.clone());
    }
    if import.background && import.has_inline() {
        return Err(Error::invalid(
            "Rows in the request are imported at once; leave out 'background', or give each table a file as its source.",
        ));
    }
    Ok(names)
}

fn table<'a>(manifest: &'a Manifest, name: &str) -> Result<&'a TableVersion> {
    manifest
        .table(name)
        .ok_or_else(|| Error::not_found("table", name))
}

fn next_manifest(
    base: &Manifest,
    staged: &BTreeMap<String, StagedTable>,
    mode: ImportMode,
) -> (Manifest, BTreeMap<String, u64>) {
    let mut manifest = base.clone();
    let mut rows_imported = BTreeMap::new();
    for table in &mut manifest.tables {
        let Some(staged) = staged.get(&table.name.to_lowercase()) else {
            continue;
        };
        if mode == ImportMode::Replace {
            table.segments.clear();
        }
        table
            .segments
            .extend(staged.staged.segment.as_ref().map(|(segment, _)| segment.clone()));
        rows_imported.insert(table.name.clone(), staged.staged.rows);
    }
    (manifest, rows_imported)
}

fn summary(import: &ImportRecord) -> String {
    let rows = import.rows_imported.iter().map(|(table, rows)| match rows {
        1 => format!("1 row into {table}"),
        rows => format!("{rows} rows into {table}"),
    });
    format!("Imported {}", rows.collect::<Vec<_>>().join(", "))
}
