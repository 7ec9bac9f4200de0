//! A child at work on one import: it turns files into segments, and looks for their keys in the table.
//!
//! No statement of a caller ever ran in it, and it is not used again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::clock::UtcTime;
use platform::{Error, Result};
use serde_json::Value;

use crate::file_format::FileFormat;
use crate::jobs::check_keys;
use crate::key::Key;
use crate::manifest::{Segment, TableVersion};
use crate::pool::{Lease, Pool};
use crate::protocol::Job;
use crate::staging::{self, Target, Written};

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
}

/// A staged segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// The rows that were read.
    pub rows: u64,
    /// The segment and its file; None if there were no rows.
    pub segment: Option<(Segment, PathBuf)>,
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

    /// Turns a file into a segment. 422 for what cannot be read or does not convert, 409 for a missing value.
    pub async fn stage(&mut self, stage: Stage<'_>, format: FileFormat, input: &Path) -> Result<Staged> {
        let target = Target {
            table: stage.table.name.clone(),
            columns: stage.table.columns.clone(),
            segment_id: stage.segment_id.to_owned(),
            output: stage.directory.join(format!("{}.parquet", stage.segment_id)),
            now: stage.now,
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
        Ok(Staged {
            rows: written.rows,
            segment: written.segment.map(|segment| (segment, output)),
        })
    }

    /// Checks the primary key and the unique columns of `table` over a staged file and files that it already has: none for an
    /// import that replaces. 409 names the first value that occurs twice.
    pub async fn check_keys(
        &mut self,
        table: &TableVersion,
        new: &Path,
        existing: Vec<PathBuf>,
    ) -> Result<()> {
        let keys = Key::of(&table.columns);
        if keys.is_empty() {
            return Ok(());
        }
        let job = Job::CheckKeys(check_keys::Input {
            table: table.name.clone(),
            keys,
            new_file: new.to_owned(),
            existing_files: existing,
        });
        self.run(job).await.map(drop)
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
