//! Runs or checks many statements over one version in one request.

use std::time::{Duration, Instant};

use bytes::Bytes;
use platform::http::sent_size::sent_bytes;
use platform::{Error, ErrorKind, Result, Tenant};
use tracing::error;

use super::query::{MAX_ANSWER_BYTES, Query};
use super::{DataStores, Loaded};

/// Bytes counted for a failed statement; with fewer bytes left, no further statement runs.
const MIN_ANSWER_BYTES: usize = 256;

impl DataStores {
    /// Runs statements over one loaded version, one after another; returns each answer as JSON, or its error.
    /// All statements share the time and size limits of one query.
    pub async fn query_all(
        &self,
        tenant: &Tenant,
        loaded: &Loaded,
        queries: &[Query<'_>],
    ) -> Vec<Result<Bytes>> {
        let limits = self.inner.engine.limits();
        let time = Allowance::new(limits.deadline);
        let mut bytes_left = MAX_ANSWER_BYTES;
        let mut answers = Vec::with_capacity(queries.len());
        for query in queries {
            let answer = match time.remaining() {
                None => Err(time.is_over()),
                Some(_) if bytes_left < MIN_ANSWER_BYTES => Err(Error::unprocessable(
                    "The answers before this one fill the whole answer; lower 'limit', or ask in several requests.",
                )),
                Some(remaining) => match self
                    .query_within(tenant, loaded, query, remaining, bytes_left)
                    .await
                {
                    Ok(answered) => Ok(answered.answer.body),
                    Err(failure) if failure.kind() == ErrorKind::Timeout => Err(time.is_over()),
                    Err(failure) => Err(failure),
                },
            };
            bytes_left =
                bytes_left.saturating_sub(answer.as_ref().map_or(MIN_ANSWER_BYTES, |body| sent_bytes(body)));
            if let Err(failure) = &answer
                && failure.is_transient()
            {
                // The batch itself succeeds, so nothing else logs this error.
                error!(%failure, "a query of a batch failed");
            }
            answers.push(answer);
        }
        answers
    }

    /// Checks statements against a loaded version without running them; returns the error of each wrong one.
    /// Fails if an error is not caused by a statement.
    pub async fn validate(&self, loaded: &Loaded, statements: &[String]) -> Result<Vec<Option<Error>>> {
        let time = Allowance::new(self.inner.engine.limits().deadline);
        let mut faults = Vec::with_capacity(statements.len());
        for sql in statements {
            let remaining = time.remaining().ok_or_else(|| time.is_over())?;
            let checked = async {
                let mut session = self.session(loaded, remaining).await?;
                let plan = session.plan(sql, None).await?;
                session.validate(&plan).await
            };
            faults.push(match checked.await {
                Ok(()) => None,
                Err(fault)
                    if matches!(fault.kind(), ErrorKind::InvalidRequest | ErrorKind::Unprocessable) =>
                {
                    Some(fault)
                }
                Err(failure) => return Err(failure),
            });
        }
        Ok(faults)
    }
}

/// Time limit of a whole request.
struct Allowance {
    due: Instant,
    allowed: Duration,
}

impl Allowance {
    fn new(allowed: Duration) -> Self {
        Self {
            due: Instant::now() + allowed,
            allowed,
        }
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.due.saturating_duration_since(Instant::now())).filter(|time| !time.is_zero())
    }

    fn is_over(&self) -> Error {
        Error::timeout(format!(
            "The queries of this request together took longer than {} seconds.",
            self.allowed.as_secs_f32()
        ))
    }
}
