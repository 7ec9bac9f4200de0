//! Who runs the code of workflows: it is somebody else's, so it may take long, and it may never come back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use platform::queue::BoxFuture;
use tracing::error;

use crate::event::{Event, EventKind};
use crate::task_failure::TaskFailure;
use crate::turn::{Code, Replay, Turn, turn};

/// How long code may run before it has to give way.
pub const TURN_LIMIT: Duration = Duration::from_secs(5);
/// How long it is waited for after it was told to end.
const ABORT_GRACE: Duration = Duration::from_millis(500);

/// A turn to be made.
#[derive(Clone)]
pub struct Task {
    /// The code.
    pub code: Code,
    /// The history.
    pub history: Arc<Vec<Event>>,
    /// The last event that a turn before has applied.
    pub processed: u64,
    /// A query to answer.
    pub query: Option<String>,
}

impl Task {
    fn turn(&self, abort: Option<&Arc<AtomicBool>>) -> Result<Turn, TaskFailure> {
        turn(
            &self.code,
            Replay {
                history: &self.history,
                processed: self.processed,
                query: self.query.as_deref(),
                abort,
            },
        )
    }
}

/// Who runs the code of workflows.
pub trait Turning: Send + Sync {
    /// Makes a turn.
    fn turn(&self, task: Task) -> BoxFuture<'static, Result<Turn, TaskFailure>>;
}

/// Runs it at once, on the caller's thread.
pub struct Inline;

impl Turning for Inline {
    fn turn(&self, task: Task) -> BoxFuture<'static, Result<Turn, TaskFailure>> {
        Box::pin(async move { task.turn(None) })
    }
}

/// Runs it on a thread of its own, and does not wait for ever. Code that asks for anything after it was told to end, ends
/// there; a thread whose code does not even do that is left behind, and its run gets no other until it ends.
#[derive(Default)]
pub struct OnThread {
    /// The runs whose threads were left behind and go on.
    left: Arc<Mutex<BTreeSet<String>>>,
}

impl OnThread {
    fn is_left(&self, run_id: &str) -> bool {
        self.left.lock().contains(run_id)
    }
}

fn forget(left: &Mutex<BTreeSet<String>>, run_id: &str) {
    left.lock().remove(run_id);
}

impl Turning for OnThread {
    fn turn(&self, task: Task) -> BoxFuture<'static, Result<Turn, TaskFailure>> {
        let run_id = match task.history.first().map(|event| &event.kind) {
            Some(EventKind::WorkflowExecutionStarted(started)) => started.run_id.clone(),
            _ => String::new(),
        };
        let left = Arc::clone(&self.left);
        let is_left = self.is_left(&run_id);
        Box::pin(async move {
            if is_left {
                return Err(TaskFailure::stuck(format!(
                    "The code did not give way within {} seconds in an earlier turn, and still does not.",
                    TURN_LIMIT.as_secs()
                )));
            }
            let abort = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&abort);
            let has_ended = Arc::new(AtomicBool::new(false));
            let (ends, left_by, run) = (Arc::clone(&has_ended), Arc::clone(&left), run_id.clone());
            let mut thread = tokio::task::spawn_blocking(move || {
                let turn = task.turn(Some(&told));
                ends.store(true, Ordering::SeqCst);
                forget(&left_by, &run);
                turn
            });
            let joined = match tokio::time::timeout(TURN_LIMIT, &mut thread).await {
                Ok(joined) => joined,
                Err(_) => {
                    abort.store(true, Ordering::Relaxed);
                    match tokio::time::timeout(ABORT_GRACE, &mut thread).await {
                        Ok(joined) => joined,
                        Err(_) => {
                            left.lock().insert(run_id.clone());
                            // It may have ended in this very moment.
                            if has_ended.load(Ordering::SeqCst) {
                                forget(&left, &run_id);
                            }
                            error!(
                                run_id,
                                "code of a workflow does not give way; its thread is left behind"
                            );
                            return Err(TaskFailure::stuck(format!(
                                "The code did not give way within {} seconds.",
                                TURN_LIMIT.as_secs()
                            )));
                        }
                    }
                }
            };
            joined.unwrap_or_else(|error| Err(TaskFailure::panicked(error.to_string())))
        })
    }
}
