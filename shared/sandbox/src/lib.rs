//! Runs work on untrusted input in a child process with hard limits on processor time and memory.
//!
//! Some inputs are small but expensive to process: schemas, patterns, templates. The cost cannot always be
//! known in advance, and a thread that does not end cannot be stopped. So such work runs in a child: the same
//! program, started with a private argument and an empty environment. The child measures its own processor
//! time, so that a busy machine does not shorten a task, and ends itself when a task exceeds its budget. A
//! child that crashes costs one answer.
//!
//! **Invariant:** no task takes more processor time or memory than its [`Limits`], and none opens a file or a
//! socket or starts a program: see [`fence`].

mod child;
pub mod fence;
mod frame;
mod process;

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS};
use platform::{Error, Result};
use process::{Ended, Process};

pub use child::{Work, run_if_child};
pub use process::Limits;

/// A task exceeded its limits or crashed. A retry would have the same result.
#[derive(Debug, PartialEq, Eq)]
pub struct Exceeded;

/// Runs tasks in children. Clones share the children.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

struct Inner {
    program: PathBuf,
    argument: &'static str,
    limits: Limits,
    permits: FairPermits,
    idle: Mutex<Vec<Process>>,
}

impl Sandbox {
    /// Starts children of this program, whose `main` must begin with [`run_if_child`] for the same argument;
    /// at most `max` at a time.
    pub fn new(argument: &'static str, limits: Limits, max: usize) -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::internal)?;
        Ok(Self::with_program(program, argument, limits, max))
    }

    /// As [`new`](Self::new), with children of another program.
    pub fn with_program(program: PathBuf, argument: &'static str, limits: Limits, max: usize) -> Self {
        fence::report();
        let inner = Inner {
            program,
            argument,
            limits,
            permits: FairPermits::new(max, MAX_WAITING_REQUESTS),
            idle: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    pub fn limits(&self) -> Limits {
        self.inner.limits
    }

    /// Starts a child before the first task.
    pub fn warm(&self) -> Result<()> {
        let process = self.inner.start()?;
        self.inner.idle().push(process);
        Ok(())
    }

    /// Returns the result of the work on `input`, which `account` sent. 503 if no child is free, or the
    /// machine is too busy for one.
    pub async fn run(&self, account: &str, input: &[u8]) -> Result<Result<Vec<u8>, Exceeded>> {
        let patience = self.inner.limits.patience;
        let _permit = self.inner.permits.acquire(account, patience).await?;
        let idle = self.inner.idle().pop();
        let waited = idle.is_some();
        let mut process = match idle {
            Some(process) => process,
            None => self.inner.start()?,
        };
        let mut done = process.run(input, patience).await;
        if waited && matches!(done, Err(Ended::Lost)) {
            process = self.inner.start()?;
            done = process.run(input, patience).await;
        }
        match done {
            Ok(output) => {
                self.inner.idle().push(process);
                Ok(Ok(output))
            }
            Err(Ended::OverTask(status)) => {
                tracing::warn!(
                    argument = self.inner.argument,
                    status,
                    "a sandboxed task exceeded its limits"
                );
                // So that the next task finds a child.
                if let Err(error) = self.warm() {
                    tracing::warn!(%error, "no sandboxed child could be started ahead");
                }
                Ok(Err(Exceeded))
            }
            Err(Ended::Lost) => Err(Error::unavailable("a sandboxed child was killed")),
            Err(Ended::Unfenced) => Err(Error::internal("a sandboxed child could not close its fence")),
            Err(Ended::Late) => Err(Error::unavailable("a sandboxed child got no time")),
        }
    }
}

impl Inner {
    fn start(&self) -> Result<Process> {
        Process::start(&self.program, self.argument, self.limits).map_err(Error::unavailable)
    }

    fn idle(&self) -> parking_lot::MutexGuard<'_, Vec<Process>> {
        self.idle.lock()
    }
}
