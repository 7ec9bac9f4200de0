//! Runs the writing thread: one transaction of SQLite, and so one sync of the disk, for all waiting requests.

use std::sync::Arc;
use std::thread::JoinHandle;

use platform::Result;
use rusqlite::Connection;
use tokio::sync::oneshot;
use tracing::warn;

use super::failure::failure;
use super::layout::Tables;
use super::open::is_busy;
use super::plan::{Failure, carry_out};
use super::queue::{Outcome, Queue, Request};

/// Attempts while another process writes; each lasts as long as a statement waits.
const MAX_BUSY_ATTEMPTS: u32 = 6;

/// Abandons the queue however the thread ends.
struct Abandon(Arc<Queue>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Starts the thread. It ends when the queue is closed and empty.
pub(super) fn start(
    connection: Connection,
    tables: Arc<Tables>,
    queue: Arc<Queue>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("records".to_owned())
        .spawn(move || {
            let queue = Abandon(queue);
            while let Some(batch) = queue.0.take() {
                write(&connection, &tables, batch);
            }
        })
}

/// Writes and answers each request, even if its receiver has gone away.
fn write(connection: &Connection, tables: &Tables, batch: Vec<Request>) {
    let mut senders: Vec<oneshot::Sender<_>> = Vec::with_capacity(batch.len());
    let mut requests = Vec::with_capacity(batch.len());
    for request in batch {
        senders.push(request.answer);
        requests.push((request.steps, request.number));
    }
    let answers = transaction(connection, || {
        let answers = requests.into_iter().map(|(steps, number)| {
            match carry_out(connection, tables, steps, number.as_deref()) {
                Ok(outcome) => Ok(Ok(outcome)),
                Err(Failure::Request(error)) => Ok(Err(error)),
                Err(Failure::Batch(error)) => Err(error),
            }
        });
        answers.collect::<rusqlite::Result<Vec<Result<Outcome>>>>()
    });
    match answers {
        Ok(answers) => {
            for (sender, answer) in senders.into_iter().zip(answers) {
                let _ = sender.send(answer);
            }
        }
        Err(error) => {
            warn!(requests = senders.len(), %error, "a commit of records failed; nothing of it was written");
            for sender in senders {
                let _ = sender.send(Err(failure(&error)));
            }
        }
    }
}

/// Takes the write lock immediately: a transaction that reads first could not write beside another process.
fn transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    // Needed if the last transaction could not be rolled back.
    roll_back(connection)?;
    execute(connection, "BEGIN IMMEDIATE")?;
    let done = work().and_then(|done| execute(connection, "COMMIT").map(|()| done));
    if let (Err(_), Err(error)) = (&done, roll_back(connection)) {
        warn!(%error, "a failed commit of records is not rolled back yet; the next commit tries again");
    }
    done
}

/// Does nothing outside a transaction, because a full disk may have ended it already.
fn roll_back(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() {
        return Ok(());
    }
    connection.execute_batch("ROLLBACK")
}

/// Executes a statement; waits for other processes that write.
pub(super) fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut attempt = 1;
    loop {
        match connection.execute_batch(sql) {
            Err(error) if is_busy(&error) && attempt < MAX_BUSY_ATTEMPTS => attempt += 1,
            other => return other,
        }
    }
}
