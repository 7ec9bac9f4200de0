//! Runs workflow code with a time limit, because it may block forever.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tracing::error;

use crate::event::{Event, EventKind};
use crate::turn::{Code, Replay, Turn, make_turn};
use crate::turn_failure::TurnFailure;

/// Time limit of a turn.
pub const TURN_LIMIT: Duration = Duration::from_secs(5);
/// Time between the signal to end and leaving the thread behind.
const ABORT_GRACE: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct Task {
    pub code: Code,
    pub history: Arc<Vec<Event>>,
    /// Number of the last event that an earlier turn applied.
    pub processed: u64,
    /// A query to answer.
    pub query: Option<String>,
}

impl Task {
    fn replay(&self, abort: Option<&Arc<AtomicBool>>) -> Result<Turn, TurnFailure> {
        make_turn(
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

#[async_trait]
pub trait TurnRunner: Send + Sync {
    async fn run(&self, task: Task) -> Result<Turn, TurnFailure>;
}

/// Runs a turn on the caller's thread, without a time limit.
pub struct Inline;

#[async_trait]
impl TurnRunner for Inline {
    async fn run(&self, task: Task) -> Result<Turn, TurnFailure> {
        task.replay(None)
    }
}

/// Runs each turn on its own thread. Code that calls the engine after the time limit ends in that call. A
/// thread that does not end is left behind, and its run gets no other turn until that thread ends.
#[derive(Default)]
pub struct OnThread {
    /// Runs whose threads were left behind and have not ended.
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

#[async_trait]
impl TurnRunner for OnThread {
    async fn run(&self, task: Task) -> Result<Turn, TurnFailure> {
        let run_id = match task.history.first().map(|event| &event.kind) {
            Some(EventKind::WorkflowExecutionStarted(started)) => started.run_id.clone(),
            _ => String::new(),
        };
        let left = Arc::clone(&self.left);
        let is_left = self.is_left(&run_id);
        if is_left {
            return Err(TurnFailure::stuck(format!(
                "The code did not give way within {} seconds in an earlier turn, and still does not.",
                TURN_LIMIT.as_secs()
            )));
        }
        let abort = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&abort);
        let has_ended = Arc::new(AtomicBool::new(false));
        let (ends, left_by, run) = (Arc::clone(&has_ended), Arc::clone(&left), run_id.clone());
        let mut thread = tokio::task::spawn_blocking(move || {
            let turn = task.replay(Some(&told));
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
                        // The thread may have ended between the timeout and the insertion.
                        if has_ended.load(Ordering::SeqCst) {
                            forget(&left, &run_id);
                        }
                        error!(
                            run_id,
                            "code of a workflow does not give way; its thread is left behind"
                        );
                        return Err(TurnFailure::stuck(format!(
                            "The code did not give way within {} seconds.",
                            TURN_LIMIT.as_secs()
                        )));
                    }
                }
            }
        };
        joined.unwrap_or_else(|error| Err(TurnFailure::panicked(error.to_string())))
    }
}
