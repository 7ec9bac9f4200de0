//! Computes delays between retries, and durations from expressions.

use std::time::Duration;

use crate::check::duration_of;
use crate::data::Data;
use crate::definition::Backoff;
use crate::limits::MAX_DURATION;

/// Returns the delay before a retry. `retry` counts from 1; `fraction` is a random number from 0 to 1 that
/// chooses within the bounds of the jitter. At most [`MAX_DURATION`].
pub fn delay(
    delay: Duration,
    backoff: Backoff,
    jitter: Option<(Duration, Duration)>,
    retry: u32,
    fraction: f64,
) -> Duration {
    let retry = retry.max(1);
    let factor = match backoff {
        Backoff::Constant => 1,
        Backoff::Linear => retry,
        Backoff::Exponential => 1_u32.checked_shl(retry - 1).unwrap_or(u32::MAX),
    };
    let fraction = if fraction.is_finite() {
        fraction.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let added = jitter.map_or(Duration::ZERO, |(from, to)| {
        from.saturating_add(to.saturating_sub(from).mul_f64(fraction))
    });
    delay
        .saturating_mul(factor)
        .saturating_add(added)
        .min(MAX_DURATION)
}

/// Parses the duration from an expression: an ISO 8601 text, or an object with `days` to `milliseconds`. The
/// error is a sentence.
pub fn duration(value: &Data) -> Result<Duration, String> {
    duration_of(&value.tree())
}
