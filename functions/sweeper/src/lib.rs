//! Finds the workflow runs that nobody looks after, because a message was lost or a process died, and those whose time has come
//! after longer than a queue can hold a message back; and sends a hint at each.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use platform::{Clock, Result, UtcTime};
use tracing::info;
use workflow::engine::{DueRun, Engine};

/// How long a hint that was sent is left to have its effect before another is, in milliseconds.
const PATIENCE_MS: u64 = 30_000;

/// Looks for runs, again and again.
pub struct Sweeper {
    engine: Engine,
    clock: Clock,
    /// The hints that were sent lately: for which run, for which time, and when.
    sent: Mutex<HashMap<String, (UtcTime, UtcTime)>>,
}

impl Sweeper {
    /// Over an engine.
    pub fn new(engine: Engine, clock: Clock) -> Self {
        Self {
            engine,
            clock,
            sent: Mutex::default(),
        }
    }

    /// Sends a hint at every run that somebody should look at within `ahead_ms` milliseconds, each for its time; not at those for
    /// which one was sent a moment ago.
    pub async fn sweep(&self, ahead_ms: u64) -> Result<()> {
        let now = self.clock.now();
        let due = self.engine.due(now.plus_ms(ahead_ms)).await?;
        let found = due.len();
        let due = self.without_sent(due, now);
        self.engine.hint_all(&due).await;
        if !due.is_empty() {
            info!(found, hints = due.len(), "workflow runs are due");
        }
        Ok(())
    }

    fn without_sent(&self, due: Vec<DueRun>, now: UtcTime) -> Vec<DueRun> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|_, (due_at, sent_at)| now < (*sent_at).max(*due_at).plus_ms(PATIENCE_MS));
        let mut is_new = |run: &DueRun| {
            let known = sent
                .get(&run.run_id)
                .is_some_and(|(due_at, _)| *due_at == run.due_at);
            if !known {
                sent.insert(run.run_id.clone(), (run.due_at, now));
            }
            !known
        };
        due.into_iter().filter(|run| is_new(run)).collect()
    }
}
