//! Retries taking over the work of the previous process on a data directory.

use std::time::Duration;

use platform::{ErrorKind, Result};
use tracing::warn;

const PAUSE: Duration = Duration::from_secs(1);

/// Returns true once the previous process's `what` are taken over or cannot be. Returns false, after a pause,
/// while the stores are unavailable; the caller then tries again.
pub(crate) async fn is_over<T>(what: &'static str, taken_up: Result<T>) -> bool {
    let Err(cause) = taken_up else {
        return true;
    };
    warn!(%cause, "the {what} of the last process were not taken up");
    if cause.kind() != ErrorKind::Unavailable {
        return true;
    }
    tokio::time::sleep(PAUSE).await;
    false
}
