//! Copies one state of the records while the file is in use.

use std::path::Path;

use platform::{Error, Result};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::SqliteRecords;
use super::busy::wait_for_others;
use super::failure::failed;
use super::readers::connect;
use super::writer::execute;

/// One state of the records. Other processes can commit meanwhile, but the WAL grows until this is dropped.
pub struct Snapshot(Connection);

impl SqliteRecords {
    /// Fixes one state of the records. No process can commit while `meanwhile` runs, so it sees exactly the
    /// objects that this state names. Writers wait for it; after 30 seconds they fail.
    pub fn snapshot<T>(&self, meanwhile: impl FnOnce() -> Result<T>) -> Result<(Snapshot, T)> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let writer = Connection::open_with_flags(&self.path, flags).map_err(failed)?;
        wait_for_others(&writer).map_err(failed)?;
        execute(&writer, "BEGIN IMMEDIATE").map_err(failed)?;
        let reader = connect(&self.path).map_err(failed)?;
        // A transaction starts with its first read.
        reader
            .execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")
            .map_err(failed)?;
        let seen = meanwhile()?;
        Ok((Snapshot(reader), seen))
    }
}

impl Snapshot {
    /// Writes the state to a new file, without a sync.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut copy = Connection::open(path).map_err(failed)?;
        copy.pragma_update(None, "synchronous", "OFF").map_err(failed)?;
        // The backup reads within the transaction of its source; without one it would restart with each
        // commit of another connection.
        let backup = Backup::new(&self.0, &mut copy).map_err(failed)?;
        match backup.step(-1).map_err(failed)? {
            StepResult::Done => Ok(()),
            _ => Err(Error::unavailable(format!(
                "another process holds the copy {} of the records",
                path.display()
            ))),
        }
    }
}
