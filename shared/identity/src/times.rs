//! Checks the times of a token.

use platform::clock::UtcTime;
use platform::error::{Error, Result};

/// Tolerated difference between the issuer's clock and ours, in seconds.
const LEEWAY_SECONDS: i64 = 30;

/// 401 for a token that has expired or is not valid yet. `exp` and `nbf` are in seconds since the Unix epoch.
pub fn check(exp: i64, nbf: Option<i64>, now: UtcTime) -> Result<()> {
    let now = now.as_seconds();
    if exp.saturating_add(LEEWAY_SECONDS) <= now {
        return Err(Error::unauthenticated(
            "The access token has expired; get a new one.",
        ));
    }
    if nbf.is_some_and(|not_before| not_before.saturating_sub(LEEWAY_SECONDS) > now) {
        return Err(Error::unauthenticated("The access token is not valid yet."));
    }
    Ok(())
}

/// Returns the time from which on a token with this `exp` is refused. None for a time that no clock shows.
pub fn end_of(exp: i64) -> Option<UtcTime> {
    UtcTime::from_millis(exp.checked_add(LEEWAY_SECONDS)?.checked_mul(1_000)?)
}
