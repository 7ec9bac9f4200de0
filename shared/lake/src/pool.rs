//! Children kept warm.
//!
//! A child that was bound to a version serves only that version, so that two tenants never share a process; a
//! new version gets the spare that was started ahead. At most `max` children work at a time, and at most
//! `max` wait bound.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use platform::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::process::{Process, Start};

/// Children, by what they are bound to.
pub(crate) struct Pool {
    start: Start,
    max: usize,
    permits: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// The longest unused first.
    bound: Vec<(String, Process)>,
    spare: Option<Process>,
}

/// A child at work; dropping it kills the child, unless it was given back.
pub(crate) struct Lease {
    pub(crate) process: Process,
    /// Whether the child is bound to the scope already.
    pub(crate) is_bound: bool,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(crate) fn new(start: Start, max: usize) -> Self {
        let max = max.max(1);
        Self {
            start,
            max,
            permits: Arc::new(Semaphore::new(max)),
            idle: Mutex::default(),
        }
    }

    /// Starts the spare, if there is none.
    pub(crate) fn warm(&self) -> Result<()> {
        let is_missing = self.lock().spare.is_none();
        if is_missing {
            let spare = Process::start(&self.start)?;
            self.lock().spare = Some(spare);
        }
        Ok(())
    }

    /// The same for the next job, while nobody waits: where it fails, that job starts a child itself.
    pub(crate) fn warm_for_next(&self) {
        if let Err(error) = self.warm() {
            tracing::warn!(%error, "no child could be started ahead");
        }
    }

    /// A child for `scope`, or an unbound one for a job of its own, which may be the spare. Waits at most `patience` for one to
    /// be free.
    pub(crate) async fn take(&self, scope: Option<&str>, patience: Duration) -> Result<Lease> {
        let permit = tokio::time::timeout(patience, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|_| Error::unavailable("every child of the engine is busy"))?
            .map_err(Error::internal)?;
        let (bound, mut spare) = {
            let mut idle = self.lock();
            let at = idle
                .bound
                .iter()
                .position(|(bound, _)| Some(bound.as_str()) == scope);
            match at {
                Some(at) => (Some(idle.bound.remove(at).1), None),
                None => (None, idle.spare.take()),
            }
        };
        if let Some(mut process) = bound
            && process.answers().await
        {
            return Ok(Lease {
                process,
                is_bound: true,
                _permit: permit,
            });
        }
        let is_ready = match &mut spare {
            Some(process) => process.answers().await,
            None => false,
        };
        let process = match spare {
            Some(process) if is_ready => process,
            _ => Process::start(&self.start)?,
        };
        Ok(Lease {
            process,
            is_bound: false,
            _permit: permit,
        })
    }

    /// A child for one job that nobody waits for, besides those that are counted, with half of their memory.
    pub(crate) fn start_aside(&self) -> Result<Process> {
        let mut start = self.start.clone();
        start.limits.memory_limit_bytes /= 2;
        Process::start(&start)
    }

    /// Keeps a child that is bound to `scope` for the next job there.
    pub(crate) fn give_back(&self, scope: &str, lease: Lease) {
        let evicted = {
            let mut idle = self.lock();
            let evicted = (idle.bound.len() >= self.max).then(|| idle.bound.remove(0));
            idle.bound.push((scope.to_owned(), lease.process));
            evicted
        };
        drop(evicted);
    }

    /// Process ids of the children that wait.
    pub(crate) fn idle_ids(&self) -> Vec<u32> {
        let idle = self.lock();
        idle.bound
            .iter()
            .map(|(_, process)| process)
            .chain(&idle.spare)
            .filter_map(Process::id)
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
