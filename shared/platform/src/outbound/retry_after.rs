//! Parses the header `Retry-After`.

use crate::clock::UtcTime;

/// Parses a `Retry-After`, in seconds or as a date, to milliseconds. None where it is neither.
pub fn retry_after_ms(text: &str, now: UtcTime) -> Option<u64> {
    let text = text.trim();
    match text.parse::<u64>() {
        Ok(seconds) => Some(seconds.saturating_mul(1_000)),
        Err(_) => Some(UtcTime::from_rfc2822(text)?.millis_since(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_become_milliseconds() {
        let now: UtcTime = "1994-11-06T08:49:30Z".parse().unwrap();
        for (text, pause_ms) in [
            ("0", Some(0)),
            (" 7 ", Some(7_000)),
            ("99999999999999999999", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7_000)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after_ms(text, now), pause_ms, "{text}");
        }
    }
}
