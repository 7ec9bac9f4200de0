//! Keeps child processes ready for jobs.
//!
//! A child bound to a version serves only that version, so that two tenants never share a process; a new
//! version gets the spare child that was started ahead. At most `max` children work at a time, and half as
//! many more whose jobs take long: these run at the lowest priority and lend their permits. At most `max`
//! idle children stay bound. Accounts share the children: one account holds at most half of the permits.

use std::time::Duration;

use parking_lot::Mutex;
use platform::Result;
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS, Permit};

use crate::engine::process::{Process, Start};
use crate::jobs::protocol::{Job, JobOutput};

/// Children by the scope that they are bound to.
pub(crate) struct Pool {
    start: Start,
    max: usize,
    permits: FairPermits,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// The least recently used first.
    bound: Vec<Bound>,
    spare: Option<Process>,
}

struct Bound {
    scope: String,
    account: String,
    process: Process,
}

/// A working child. Dropping it kills the child, unless the child was given back.
pub(crate) struct Lease {
    pub(crate) process: Process,
    /// Whether the child is already bound to the scope.
    pub(crate) is_bound: bool,
    permit: Permit,
}

impl Lease {
    /// Runs a job like [`Process::run`]; a long job lends its permit to another.
    pub(crate) async fn run(&mut self, job: Job, deadline: Duration) -> Result<Result<JobOutput>> {
        self.process.run(job, deadline, || self.permit.lend()).await
    }
}

impl Pool {
    pub(crate) fn new(start: Start, max: usize) -> Self {
        let max = max.max(1);
        Self {
            start,
            max,
            permits: FairPermits::new(max, MAX_WAITING_REQUESTS),
            idle: Mutex::default(),
        }
    }

    /// Starts the spare child if there is none.
    pub(crate) fn warm(&self) -> Result<()> {
        let is_missing = self.lock().spare.is_none();
        if is_missing {
            let spare = Process::start(&self.start)?;
            self.lock().spare = Some(spare);
        }
        Ok(())
    }

    /// Like [`warm`](Self::warm), between jobs. If it fails, the next job starts a child itself.
    pub(crate) fn warm_for_next(&self) {
        if let Err(error) = self.warm() {
            tracing::warn!(%error, "no child could be started ahead");
        }
    }

    /// Leases a child for `scope`, or without a scope an unbound child, which may be the spare. Waits at most
    /// `patience` for a permit.
    pub(crate) async fn take(&self, scope: Option<&str>, account: &str, patience: Duration) -> Result<Lease> {
        let permit = self.permits.acquire(account, patience).await?;
        let (bound, mut spare) = {
            let mut idle = self.lock();
            let at = idle
                .bound
                .iter()
                .position(|bound| Some(bound.scope.as_str()) == scope);
            match at {
                Some(at) => (Some(idle.bound.remove(at).process), None),
                None => (None, idle.spare.take()),
            }
        };
        if let Some(mut process) = bound
            && process.answers().await
        {
            return Ok(Lease {
                process,
                is_bound: true,
                permit,
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
            permit,
        })
    }

    /// Starts an uncounted child for one background job, with half of the usual memory.
    pub(crate) fn start_aside(&self) -> Result<Process> {
        let mut start = self.start.clone();
        start.limits.memory_limit_bytes /= 2;
        Process::start(&start)
    }

    /// Keeps a child bound to `scope` for the next job there. A process cannot raise its priority again, so a
    /// child with the lowest priority is replaced.
    pub(crate) fn give_back(&self, scope: &str, account: &str, lease: Lease) {
        if lease.process.is_demoted() {
            drop(lease);
            return self.warm_for_next();
        }
        let evicted = {
            let mut idle = self.lock();
            let evicted = (idle.bound.len() >= self.max).then(|| idle.evict());
            idle.bound.push(Bound {
                scope: scope.to_owned(),
                account: account.to_owned(),
                process: lease.process,
            });
            evicted
        };
        drop(evicted);
    }

    /// Returns the process ids of the idle children.
    pub(crate) fn idle_ids(&self) -> Vec<u32> {
        let idle = self.lock();
        idle.bound
            .iter()
            .map(|bound| &bound.process)
            .chain(&idle.spare)
            .filter_map(Process::id)
            .collect()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Idle> {
        self.idle.lock()
    }
}

impl Idle {
    /// Takes the least recently used child of the account that has the most, so that an account that queries
    /// many versions displaces its own children.
    fn evict(&mut self) -> Option<Bound> {
        let of = |account: &str| self.bound.iter().filter(|bound| bound.account == account).count();
        let most = self.bound.iter().map(|bound| of(&bound.account)).max()?;
        let at = self.bound.iter().position(|bound| of(&bound.account) == most)?;
        Some(self.bound.remove(at))
    }
}
