//! A child at work on one import: it turns files into segments, and looks for their keys in the table.
//!
//! No statement of a caller ever ran in it, and it is not used again.

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
use crate::import::staging::{self, Target, Written};
use crate::jobs::check_keys;
use crate::jobs::protocol::Job;
use crate::schema::manifest::{Segment, TableVersion};

/// Where staged rows go.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The table as it is before the import.
    pub table: &'a TableVersion,
    /// The id of the segment to be.
    pub segment_id: &'a str,
    /// The folder of the import; the file in it is `<segment_id>.parquet`.
    pub directory: &'a Path,
    /// The time of the import, for defaults.
    pub now: UtcTime,
    /// How digits that a column does not keep are rounded; None to refuse them.
    pub rounding: Option<Rounding>,
}

/// A staged segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// The rows that were read.
    pub rows: u64,
    /// The segment and its file; None if there were no rows. With faults, a file to check the keys of, and no segment of the
    /// table.
    pub segment: Option<(Segment, PathBuf)>,
    /// The first rows at fault, by row.
    pub faults: Vec<Fault>,
}

impl Staged {
    /// 422 for rows at fault, 409 if all that they lack is values; then the file is removed.
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

/// A child for the steps of one import, from the first that needs one. All of its files must be in one folder.
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

    /// Turns a file into a segment, or finds the rows at fault. 422 for a file that cannot be read.
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
        let input = staging::Input {
            input: input.to_owned(),
            target,
        };
        let staged = self.run(Job::Stage { format, input }).await;
        let value = staged.inspect_err(|_| {
            // Half a file, or a whole one that must not be used.
            let _ = std::fs::remove_file(&output);
        })?;
        let written: Written = serde_json::from_value(value).map_err(Error::internal)?;
        if written.segment.is_none() {
            let _ = std::fs::remove_file(&output);
        }
        Ok(Staged {
            rows: written.rows,
            segment: written.segment.map(|segment| (segment, output)),
            faults: written.faults,
        })
    }

    /// Checks the primary key and the unique columns of `table` over a staged file and files that it already has: none for an
    /// import that replaces. The first rows whose key occurs twice, by row.
    pub async fn check_keys(
        &mut self,
        table: &TableVersion,
        new: &Path,
        existing: Vec<PathBuf>,
    ) -> Result<Vec<Fault>> {
        let keys = Key::of(&table.columns);
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let job = Job::CheckKeys(check_keys::Input {
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
        let done = lease.run(job, self.deadline).await?;
        done.map(|(value, _)| value)
    }
}

impl Drop for ImportSession<'_> {
    /// Starts the next child. Not before: its start takes as much of the processors as a small import.
    fn drop(&mut self) {
        if self.lease.take().is_some() {
            self.pool.warm_for_next();
        }
    }
}
