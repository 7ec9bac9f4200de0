//! Taking up what the last process over a data directory left.

use std::time::Duration;

use platform::{ErrorKind, Result};
use tracing::warn;

/// Before it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether the `what` of the last process are taken up, or cannot be. False, after a pause, where the stores
/// are away: then the caller tries again.
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
