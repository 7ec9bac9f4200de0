//! Limits the requests to providers.

use std::time::Duration;

/// Maximum time limit of a call, so that adding it to a time never overflows.
pub(crate) const MAX_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Limits on the time and number of requests to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit of a connection, including its handshake.
    pub connect: Duration,
    /// Maximum pause before and between the parts of a streamed answer.
    pub between_parts: Duration,
    /// Time limit of a call whose request sets none.
    pub whole: Duration,
    /// Maximum number of requests for one answer, including the first.
    pub attempts: u32,
    /// Pause before the first retry; each further pause is twice as long.
    pub first_pause: Duration,
    /// Maximum pause before a retry. Where the provider requests a longer one, the caller gets the error with
    /// that pause: a workflow can wait without a process.
    pub longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            // A model may take long before its first word.
            between_parts: Duration::from_secs(60),
            whole: Duration::from_secs(120),
            attempts: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
        }
    }
}
