//! Leases a child to one session for several jobs that share one time limit.

use std::time::{Duration, Instant};

use platform::{Error, ErrorKind, Result};

use crate::engine::pool::{Lease, Pool};
use crate::jobs::protocol::{Job, JobOutput};

/// A child bound to a scope. If dropped between two jobs, it leaves the child to the next session of the
/// scope; if dropped during a job, it ends the child.
pub(crate) struct Leased<'a> {
    pool: &'a Pool,
    scope: String,
    account: &'a str,
    /// None while a job runs, and after an error that makes the child unusable.
    lease: Option<Lease>,
    allowed: Duration,
    due: Instant,
}

impl<'a> Leased<'a> {
    /// Takes a child; the flag says whether it is already bound.
    pub(crate) async fn take(
        pool: &'a Pool,
        scope: String,
        account: &'a str,
        allowed: Duration,
    ) -> Result<(Self, bool)> {
        let lease = pool.take(Some(&scope), account, allowed).await?;
        let is_bound = lease.is_bound;
        if !is_bound {
            pool.warm_for_next();
        }
        let leased = Self {
            pool,
            scope,
            account,
            lease: Some(lease),
            allowed,
            due: Instant::now() + allowed,
        };
        Ok((leased, is_bound))
    }

    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Ends the child, so that the next session gets another one.
    pub(crate) fn discard(&mut self) {
        self.lease = None;
    }

    /// Returns the 408 of a session whose time limit is exceeded.
    pub(crate) fn too_slow(&self) -> Error {
        Error::timeout(format!(
            "It took longer than {} seconds and was stopped.",
            self.allowed.as_secs_f32()
        ))
    }

    pub(crate) async fn run(&mut self, job: Job) -> Result<JobOutput> {
        let remaining = self.due.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Err(self.too_slow());
        }
        // Taken out during the job, so that dropping the session ends the child with its job.
        let lease = self.lease.take();
        let mut lease = lease.ok_or_else(|| Error::internal("the session lost its child"))?;
        let result = match lease.run(job, remaining).await {
            Ok(result) => {
                // After an internal error of DuckDB the database may be unusable, and after a lack of memory
                // the address space is fragmented. The next job gets a new child.
                let spoils =
                    |error: &Error| matches!(error.kind(), ErrorKind::Internal | ErrorKind::Unprocessable);
                if !result.as_ref().is_err_and(spoils) {
                    self.lease = Some(lease);
                }
                result
            }
            Err(error) => Err(error),
        };
        result.map_err(|error| match error.kind() {
            ErrorKind::Timeout => self.too_slow().with_source(error),
            _ => error,
        })
    }
}

impl Drop for Leased<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            self.pool.give_back(&self.scope, self.account, lease);
        }
    }
}
