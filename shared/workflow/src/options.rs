//! Defines the options of activities and child runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The defaults are Temporal's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryPolicy {
    /// Pause before the second attempt, in milliseconds.
    pub initial_interval_ms: u64,
    /// Factor between a pause and the next one.
    pub backoff_coefficient: f64,
    /// Upper limit of a pause, in milliseconds.
    pub maximum_interval_ms: u64,
    /// Including the first attempt; 0 for no limit.
    pub maximum_attempts: u32,
    /// Types of failures that are not retried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub non_retryable_error_types: Vec<String>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial_interval_ms: 1_000,
            backoff_coefficient: 2.0,
            maximum_interval_ms: 100_000,
            maximum_attempts: 0,
            non_retryable_error_types: Vec::new(),
        }
    }
}

impl RetryPolicy {
    pub fn none() -> Self {
        Self {
            maximum_attempts: 1,
            ..Self::default()
        }
    }

    pub fn attempts(maximum_attempts: u32) -> Self {
        Self {
            maximum_attempts,
            ..Self::default()
        }
    }

    /// Returns the pause after a failed attempt with this number, in milliseconds; None if no attempt
    /// follows.
    pub fn pause_ms(&self, attempt: u32) -> Option<u64> {
        if self.maximum_attempts != 0 && attempt >= self.maximum_attempts {
            return None;
        }
        let failed = attempt.saturating_sub(1);
        let factor = self
            .backoff_coefficient
            .max(1.0)
            .powi(failed.min(1_000).cast_signed());
        let pause = Duration::from_millis(self.initial_interval_ms).as_secs_f64() * factor;
        let longest = Duration::from_millis(self.maximum_interval_ms).as_secs_f64();
        // The smaller value is at most the longest pause, which is whole milliseconds.
        Some(
            Duration::from_secs_f64(pause.min(longest))
                .as_millis()
                .try_into()
                .unwrap_or(u64::MAX),
        )
    }
}

/// Default time limit of an attempt, in milliseconds.
pub const DEFAULT_START_TO_CLOSE_MS: u64 = 60_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActivityOptions {
    /// Time limit of one attempt, in milliseconds; one minute if missing. A function ends after 15 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_to_close_ms: Option<u64>,
    /// Time limit of all attempts together, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_to_close_ms: Option<u64>,
    /// Time limit between two heartbeats, in milliseconds; none are required if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_ms: Option<u64>,
    #[serde(skip_serializing_if = "RetryPolicy::is_default")]
    pub retry: RetryPolicy,
}

impl RetryPolicy {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ActivityOptions {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Time limit of one attempt, in milliseconds.
    pub fn start_to_close_ms(&self) -> u64 {
        self.start_to_close_ms.unwrap_or(DEFAULT_START_TO_CLOSE_MS)
    }
}

/// What happens to a child run if its parent ends first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentClosePolicy {
    #[default]
    Terminate,
    RequestCancel,
    /// The child continues.
    Abandon,
}

impl ParentClosePolicy {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let policy = RetryPolicy {
            maximum_attempts: 9,
            ..RetryPolicy::default()
        };
        let pauses: Vec<_> = (1..=9).map(|attempt| policy.pause_ms(attempt)).collect();
        let expected = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 100_000].map(Some);
        assert_eq!(pauses[..8], expected);
        assert_eq!(pauses[8], None);
        assert_eq!(RetryPolicy::default().pause_ms(u32::MAX), Some(100_000));
        assert_eq!(RetryPolicy::none().pause_ms(1), None);
    }
}
