//! Keeps the connections that read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use platform::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::busy::wait_for_others;
use super::failure::failed;
use super::open::{CACHE_SIZE, STATEMENTS};

/// Read connections. A read that finds none idle opens another, so that reads never wait for each other.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Idle>,
    turns: Arc<Semaphore>,
}

struct Idle {
    connections: Vec<Connection>,
    most: usize,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from).max(2);
        let idle = Idle {
            connections: Vec::new(),
            most: processors * 2,
        };
        Self {
            path: path.to_owned(),
            idle: Mutex::new(idle),
            turns: Arc::new(Semaphore::new(processors)),
        }
    }

    /// Waits until fewer range reads run than there are processors.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        turn.map_err(Error::internal)
    }

    /// Reads on the calling thread.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.lock().connections.pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path).map_err(failed)?,
        };
        let answer = read(&connection)?;
        // A connection whose read failed is not reused.
        let mut idle = self.lock();
        if idle.connections.len() < idle.most {
            idle.connections.push(connection);
        }
        Ok(answer)
    }

    /// Closes the idle connections now, and each other one after its read.
    pub(super) fn close(&self) {
        let mut idle = self.lock();
        idle.most = 0;
        idle.connections.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock()
    }
}

/// Opens a read-only connection.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    wait_for_others(&connection)?;
    connection.pragma_update(None, "cache_size", CACHE_SIZE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}
