//! Runs the steps of one import in a child: converts files to segments and checks keys against the table.
//!
//! The child never ran a caller's statement, and it is not used again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::clock::UtcTime;
use platform::{Error, Result};
use serde_json::Value;

use crate::engine::pool::{Lease, Pool};
use crate::import::faults::{self, Fault};
use crate::import::file_format::FileFormat;
use crate::import::key::Key;
use crate::import::rounding::Rounding;
use crate::import::staging::{self, StageOutcome, Target};
use crate::jobs::check_keys;
use crate::jobs::protocol::Job;
use crate::schema::manifest::{Segment, TableVersion};

/// Destination of staged rows.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The table before the import.
    pub table: &'a TableVersion,
    pub segment_id: &'a str,
    /// Folder of the import; the new file is `<segment_id>.parquet` in it.
    pub directory: &'a Path,
    /// Time of the import, for defaults.
    pub now: UtcTime,
    /// Rounding of digits that a column cannot hold; None refuses them.
    pub rounding: Option<Rounding>,
}

/// Result of staging one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    pub rows: u64,
    /// The segment and its file; None if there were no rows. If there are faults, the file only serves to
    /// check its keys, and the segment is not added to the table.
    pub segment: Option<(Segment, PathBuf)>,
    /// Faults of the first wrong rows, in row order.
    pub faults: Vec<Fault>,
}

impl Staged {
    /// Removes the file and fails if there are faults: with 409 if every fault is a missing value, else with
    /// 422.
    pub fn accepted(self) -> Result<Self> {
        if self.faults.is_empty() {
            return Ok(self);
        }
        if let Some((_, path)) = &self.segment {
            let _ = std::fs::remove_file(path);
        }
        Err(faults::refusal(&[self.faults]))
    }
}

/// A child for the steps of one import, taken at the first step that needs one. All files of the import must
/// be in one folder.
pub struct ImportSession<'a> {
    pool: &'a Pool,
    account: &'a str,
    lease: Option<Lease>,
    deadline: Duration,
}

impl<'a> ImportSession<'a> {
    pub(crate) fn new(pool: &'a Pool, account: &'a str, deadline: Duration) -> Self {
        Self {
            pool,
            account,
            lease: None,
            deadline,
        }
    }

    /// Converts a file to a segment, or finds the wrong rows. Fails with 422 if the file cannot be read.
    pub async fn stage(&mut self, stage: Stage<'_>, format: FileFormat, input: &Path) -> Result<Staged> {
        let target = Target {
            table: stage.table.name.clone(),
            columns: stage.table.columns.clone(),
            segment_id: stage.segment_id.to_owned(),
            output: stage.directory.join(format!("{}.parquet", stage.segment_id)),
            now: stage.now,
            rounding: stage.rounding,
        };
        let output = target.output.clone();
        let input = staging::StageInput {
            input: input.to_owned(),
            target,
        };
        let staged = self.run(Job::Stage { format, input }).await;
        let value = staged.inspect_err(|_| {
            // The file is incomplete or must not be used.
            let _ = std::fs::remove_file(&output);
        })?;
        let outcome: StageOutcome = serde_json::from_value(value).map_err(Error::internal)?;
        if outcome.segment.is_none() {
            let _ = std::fs::remove_file(&output);
        }
        Ok(Staged {
            rows: outcome.rows,
            segment: outcome.segment.map(|segment| (segment, output)),
            faults: outcome.faults,
        })
    }

    /// Checks the primary key and the unique columns of `table` over a staged file and the table's existing
    /// files (none for an import that replaces). Returns the faults of the first rows whose key occurs twice,
    /// in row order.
    pub async fn check_keys(
        &mut self,
        table: &TableVersion,
        new: &Path,
        existing: Vec<PathBuf>,
    ) -> Result<Vec<Fault>> {
        let keys = Key::from_columns(&table.columns);
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let job = Job::CheckKeys(check_keys::KeyCheckInput {
            table: table.name.clone(),
            keys,
            new_file: new.to_owned(),
            existing_files: existing,
        });
        let faults = self.run(job).await?;
        serde_json::from_value(faults).map_err(Error::internal)
    }

    async fn run(&mut self, job: Job) -> Result<Value> {
        let lease = match &mut self.lease {
            Some(lease) => lease,
            none => none.insert(self.pool.take(None, self.account, self.deadline).await?),
        };
        let output = lease.run(job, self.deadline).await?;
        output.map(|output| output.value)
    }
}

impl Drop for ImportSession<'_> {
    /// Starts the next child. An earlier start would take as much processor time as a small import.
    fn drop(&mut self) {
        if self.lease.take().is_some() {
            self.pool.warm_for_next();
        }
    }
}
