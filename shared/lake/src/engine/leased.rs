//! A child that one session holds for several jobs, within a time that they share.

use std::time::{Duration, Instant};

use platform::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::engine::pool::{Lease, Pool};
use crate::jobs::protocol::Job;

/// A child bound to a scope. Dropped between two jobs, it leaves the child to the next session of the
/// scope; dropped in the middle of one, it ends the child.
pub(crate) struct Leased<'a> {
    pool: &'a Pool,
    scope: String,
    account: &'a str,
    /// None while a job runs, and after one that spoilt the child.
    lease: Option<Lease>,
    allowed: Duration,
    due: Instant,
}

impl<'a> Leased<'a> {
    /// Takes a child, and tells whether it is bound already.
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

    /// Ends the child, so that the next session gets another.
    pub(crate) fn discard(&mut self) {
        self.lease = None;
    }

    /// The 408 of a session whose time is over.
    pub(crate) fn too_slow(&self) -> Error {
        Error::timeout(format!(
            "It took longer than {} seconds and was stopped.",
            self.allowed.as_secs_f32()
        ))
    }

    pub(crate) async fn run(&mut self, job: Job) -> Result<(Value, Vec<u8>)> {
        let left = self.due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.too_slow());
        }
        // Taken away, so that a session that is dropped meanwhile ends the child with its job.
        let taken = self.lease.take();
        let mut lease = taken.ok_or_else(|| Error::internal("the session lost its child"))?;
        let result = match lease.run(job, left).await {
            Ok(result) => {
                // After a fault of DuckDB's own the database may be unusable, and after a lack of memory
                // its address space is full of holes: the next job gets a fresh child.
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
