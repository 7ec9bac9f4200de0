//! Answers a request before Lambda ends its function.
//!
//! A function that Lambda ends says nothing: the caller gets a 503 and a mutation leaves no audit record.
//! So the work of a request ends [`MARGIN`] before, with a 408, and its audit record is written in the time
//! that is left.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use tokio::time::{Instant, timeout_at};

use crate::error::Error;

/// From the end of the work to the end of the function: an audit record and the answer.
const MARGIN: Duration = Duration::from_secs(2);
/// From the last moment at which the table may take an audit record; then the retry queue gets it.
const RECORD_MARGIN: Duration = Duration::from_secs(1);
/// From the last answer to the end of the function.
const LAST: Duration = Duration::from_millis(500);

/// When the work of a request ends; a request extension.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    function_ends: Instant,
    /// The audit layer ends the work itself and then writes its record.
    is_kept: Arc<AtomicBool>,
}

impl Deadline {
    pub(super) fn at(function_ends: Instant) -> Self {
        Self {
            function_ends,
            is_kept: Arc::default(),
        }
    }

    /// The time at which the layer that calls this ends the work.
    pub(super) fn keep(&self) -> Instant {
        self.is_kept.store(true, Ordering::Relaxed);
        self.function_ends - MARGIN
    }

    /// The time at which the audit layer gives the table up.
    pub(super) fn record_ends(&self) -> Instant {
        self.function_ends - RECORD_MARGIN
    }

    /// The answer of `work`, or a 408 where it takes too long.
    pub(super) async fn limit(self, work: impl Future<Output = Response>) -> Response {
        tokio::pin!(work);
        if let Ok(response) = timeout_at(self.function_ends - MARGIN, &mut work).await {
            return response;
        }
        if self.is_kept.load(Ordering::Relaxed)
            && let Ok(response) = timeout_at(self.function_ends - LAST, work).await
        {
            return response;
        }
        too_slow().into_response()
    }
}

/// What a caller is told. The work may have come to its end all the same.
pub(super) fn too_slow() -> Error {
    Error::timeout(
        "The request took longer than a function may. Ask for less at a time; read what it changes before you repeat it.",
    )
}
