//! Holds the state of a child process that its jobs share: the connection, the bound tables, the deadline.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use duckdb::{Connection, InterruptHandle};
use parking_lot::{Condvar, Mutex};
use platform::{Error, Result};

use crate::child::fence;
use crate::statement::checked::Checked;
use crate::statement::planned::Planned;
use crate::tables::views::Views;

/// Interval between interruptions of a job past its deadline. DuckDB loses an interruption that arrives
/// between two statements.
const INTERRUPT_EVERY: Duration = Duration::from_millis(50);

pub(crate) struct Context {
    pub(crate) connection: Connection,
    /// Names of the version's tables; None before the fence is closed.
    pub(crate) tables: Option<Vec<String>>,
    pub(crate) views: Views,
    /// Statements that passed the check over these tables.
    pub(crate) checked: Checked,
    /// Statement that the next job runs.
    pub(crate) planned: Option<Planned>,
    /// Whether the connection knows the function `json_text`.
    pub(crate) has_json_text: bool,
    /// Standard output, for replies.
    pub(crate) output: File,
    /// Folder of an import, or of the platform's own statements, that the fence admits.
    folder: Option<PathBuf>,
    deadline: Deadline,
}

impl Context {
    pub(crate) fn new(connection: Connection, output: File) -> Result<Self> {
        let deadline = Deadline::watch(connection.interrupt_handle())?;
        Ok(Self {
            connection,
            tables: None,
            views: Views::default(),
            checked: Checked::default(),
            planned: None,
            has_json_text: false,
            output,
            folder: None,
            deadline,
        })
    }

    /// Interrupts DuckDB when `work` takes longer than `duration`.
    pub(crate) fn within<T>(&mut self, duration: Duration, work: impl FnOnce(&mut Self) -> T) -> T {
        self.deadline.start(duration);
        let done = work(self);
        self.deadline.stop();
        done
    }

    /// Closes the fence around a folder unless an earlier job did. Refuses another folder, and files that are
    /// not directly in it.
    pub(crate) fn enclose<'a>(
        &mut self,
        folder: &Path,
        files: impl IntoIterator<Item = &'a Path>,
    ) -> Result<()> {
        if self.folder.is_none() {
            fence::close(&self.connection, [], [folder], "")?;
            self.folder = Some(folder.to_owned());
        }
        if self.folder.as_deref() != Some(folder) {
            return Err(Error::internal("the child is for another folder"));
        }
        match files.into_iter().all(|file| file.parent() == Some(folder)) {
            true => Ok(()),
            false => Err(Error::internal("a file of an import is not in its folder")),
        }
    }

    pub(crate) fn tables(&self) -> Result<&[String]> {
        self.tables
            .as_deref()
            .ok_or_else(|| Error::internal("the child is not bound to a version"))
    }
}

/// Interrupts the connection when a job exceeds its time limit.
struct Deadline {
    shared: Arc<(Mutex<Option<Instant>>, Condvar)>,
}

impl Deadline {
    fn watch(handle: Arc<InterruptHandle>) -> Result<Self> {
        let shared: Arc<(Mutex<Option<Instant>>, Condvar)> = Arc::default();
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .spawn(move || {
                let (lock, changed) = &*watched;
                let mut due = lock.lock();
                loop {
                    match *due {
                        None => changed.wait(&mut due),
                        Some(instant) if instant > Instant::now() => {
                            changed.wait_until(&mut due, instant);
                        }
                        Some(_) => {
                            handle.interrupt();
                            changed.wait_for(&mut due, INTERRUPT_EVERY);
                        }
                    }
                }
            })
            .map_err(Error::internal)?;
        Ok(Self { shared })
    }

    fn start(&self, duration: Duration) {
        self.set(Some(Instant::now() + duration));
    }

    fn stop(&self) {
        self.set(None);
    }

    fn set(&self, due: Option<Instant>) {
        *self.shared.0.lock() = due;
        self.shared.1.notify_all();
    }
}
