//! Answers a request before Lambda ends its function.
//!
//! When Lambda ends a function, the caller gets a 503 and a mutation leaves no audit record. So the work of a
//! request stops [`MARGIN`] earlier, with a 408, and the remaining time is used to write its audit record.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use tokio::time::{Instant, timeout_at};

use crate::error::Error;

/// Time between the end of the work and the end of the function, for an audit record and the answer.
const MARGIN: Duration = Duration::from_secs(2);
/// Time between the table's deadline for an audit record and the end of the function. After that deadline the
/// record goes to the retry queue.
const RECORD_MARGIN: Duration = Duration::from_secs(1);
/// Time between the latest possible answer and the end of the function.
const LAST: Duration = Duration::from_millis(500);

/// Deadline for the work of a request; a request extension.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    function_ends: Instant,
    /// Set when the audit layer stops the work itself and then writes its record.
    is_taken_over: Arc<AtomicBool>,
}

impl Deadline {
    pub(super) fn at(function_ends: Instant) -> Self {
        Self {
            function_ends,
            is_taken_over: Arc::default(),
        }
    }

    /// Hands the deadline over to the calling layer, and returns the time at which it must stop the work.
    pub(super) fn take_over(&self) -> Instant {
        self.is_taken_over.store(true, Ordering::Relaxed);
        self.function_ends - MARGIN
    }

    /// Returns the time at which the audit layer stops waiting for the table.
    pub(super) fn record_ends(&self) -> Instant {
        self.function_ends - RECORD_MARGIN
    }

    /// Returns the answer of `work`, or a 408 where it exceeds the limit.
    pub(super) async fn limit(self, work: impl Future<Output = Response>) -> Response {
        tokio::pin!(work);
        if let Ok(response) = timeout_at(self.function_ends - MARGIN, &mut work).await {
            return response;
        }
        if self.is_taken_over.load(Ordering::Relaxed)
            && let Ok(response) = timeout_at(self.function_ends - LAST, work).await
        {
            return response;
        }
        too_slow().into_response()
    }
}

/// Error for the caller. The work may have completed all the same.
pub(super) fn too_slow() -> Error {
    Error::timeout(
        "The request took longer than a function may. Ask for less at a time; read what it changes before you repeat it.",
    )
}
