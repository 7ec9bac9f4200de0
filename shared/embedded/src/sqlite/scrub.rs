//! Removes what deleted items left in the file.

use platform::{Error, Result};
use rusqlite::{Connection, OpenFlags};

use super::SqliteRecords;
use super::busy::wait_for_others;
use super::failure::failed;
use super::writer::execute;

impl SqliteRecords {
    /// Writes the file anew without the bytes of removed items, and empties the WAL. It takes as much room
    /// again as the file. Unavailable while another process uses the file.
    pub async fn scrub(&self) -> Result<()> {
        let path = self.path.clone();
        let work = tokio::task::spawn_blocking(move || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
            wait_for_others(&connection).map_err(failed)?;
            execute(&connection, "VACUUM").map_err(failed)?;
            let is_busy: bool = connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
                .map_err(failed)?;
            match is_busy {
                false => Ok(()),
                true => Err(Error::unavailable("another process reads the file of records")),
            }
        });
        work.await.map_err(Error::internal)?
    }
}
