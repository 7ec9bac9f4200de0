//! Evaluates a response: delivered, refused, or to be retried, and when.

use std::time::Duration;

use events::target::Retry;
use platform::UtcTime;
use platform::outbound::{OutboundError, retry_after_ms};

use super::outcome::{Answer, Next};

/// A pause varies by up to this fraction, so that deliveries that failed together do not retry together.
const JITTER: f64 = 0.2;

/// Evaluation of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub next: Next,
    /// Why it failed; None where it succeeded.
    pub error: Option<String>,
    /// Whether the receiver is permanently gone (410).
    pub is_gone: bool,
}

/// Evaluates an attempt that `tried` attempts preceded. `chance` is from 0 to 1.
pub(super) fn verdict(
    retry: &Retry,
    answer: &Result<Answer, OutboundError>,
    tried: usize,
    now: UtcTime,
    chance: f64,
) -> Verdict {
    let (error, may_pass) = match answer {
        Ok(answer) if (200..300).contains(&answer.status) => {
            return Verdict {
                next: Next::Done,
                error: None,
                is_gone: false,
            };
        }
        Ok(answer) => {
            let status = answer.status;
            let may_pass = retry.retries(status);
            let hint = match status {
                300..400 => ", a redirect, which is not followed",
                410 => ", so the subscription is disabled",
                _ => "",
            };
            (
                format!("The receiver answered with the status {status}{hint}."),
                may_pass,
            )
        }
        Err(error) => {
            let may_pass = !matches!(error, OutboundError::Refused(_));
            let message = match error {
                OutboundError::TooSlow(limit) => format!(
                    "The receiver did not answer within {} seconds; it may have the request.",
                    limit.as_secs_f64()
                ),
                _ => format!("Nothing was delivered to the URL: {error}."),
            };
            (message, may_pass)
        }
    };
    let next = match pause(retry, answer, tried, now, chance) {
        Some(pause) if may_pass => Next::After(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
        None if may_pass => Next::GiveUp(format!("{error} It was the last attempt.")),
        _ => Next::GiveUp(error.clone()),
    };
    Verdict {
        next,
        error: Some(error),
        is_gone: answer.as_ref().is_ok_and(|answer| answer.status == 410),
    }
}

/// Returns the pause after an attempt; None after the last. A `Retry-After` of the receiver extends the
/// pause, up to twice the scheduled one.
fn pause(
    retry: &Retry,
    answer: &Result<Answer, OutboundError>,
    tried: usize,
    now: UtcTime,
    chance: f64,
) -> Option<Duration> {
    let step = Duration::from_millis(retry.pause_ms(tried)?);
    let scattered = step.mul_f64(1.0 + JITTER * (2.0 * chance.clamp(0.0, 1.0) - 1.0));
    let text = answer
        .as_ref()
        .ok()
        .and_then(|answer| answer.retry_after.as_deref());
    let requested = text
        .and_then(|text| retry_after_ms(text, now))
        .map(Duration::from_millis);
    Some(requested.map_or(scattered, |requested| requested.min(step * 2).max(scattered)))
}

#[cfg(test)]
mod tests {
    use events::target::RETRY_SCHEDULE_MS;

    use super::*;

    fn verdict(answer: &Result<Answer, OutboundError>, tried: usize, now: UtcTime, chance: f64) -> Verdict {
        super::verdict(&Retry::default(), answer, tried, now, chance)
    }

    fn answered(status: u16, retry_after: Option<&str>) -> Result<Answer, OutboundError> {
        Ok(Answer {
            status,
            body: Vec::new(),
            retry_after: retry_after.map(str::to_owned),
        })
    }

    fn now() -> UtcTime {
        "1994-11-06T08:49:37Z".parse().unwrap()
    }

    #[test]
    fn statuses_mean_what_the_contract_says() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(verdict(&answered(status, None), 0, now(), 0.5).next, Next::Done);
        }
        for status in [408, 425, 429, 500, 502, 503, 504, 599] {
            let verdict = verdict(&answered(status, None), 0, now(), 0.5);
            assert_eq!(verdict.next, Next::After(5_000), "{status}");
            assert!(!verdict.is_gone);
        }
        for status in [301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 422] {
            let verdict = verdict(&answered(status, None), 0, now(), 0.5);
            assert!(matches!(verdict.next, Next::GiveUp(_)), "{status}");
            assert_eq!(verdict.is_gone, status == 410);
        }
        for error in [
            OutboundError::TooSlow(Duration::from_secs(10)),
            OutboundError::Unreachable("x".into()),
        ] {
            assert_eq!(verdict(&Err(error), 0, now(), 0.5).next, Next::After(5_000));
        }
        let refused = Err(OutboundError::Refused("the address is not public".to_owned()));
        assert!(matches!(verdict(&refused, 0, now(), 0.5).next, Next::GiveUp(_)));
    }

    #[test]
    fn pauses_grow_and_are_scattered() {
        for (tried, step) in RETRY_SCHEDULE_MS.into_iter().enumerate() {
            for (chance, part) in [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)] {
                let verdict = verdict(&answered(500, None), tried, now(), chance);
                let expected = Duration::from_millis(step).mul_f64(part).as_millis();
                assert_eq!(verdict.next, Next::After(expected.try_into().unwrap()));
            }
        }
        let last = verdict(&answered(500, None), RETRY_SCHEDULE_MS.len(), now(), 0.5);
        assert_eq!(
            last.next,
            Next::GiveUp("The receiver answered with the status 500. It was the last attempt.".to_owned())
        );
    }

    #[test]
    fn a_receiver_has_the_time_that_he_asks_for_up_to_the_double() {
        for (retry_after, pause) in [
            ("8", 8_000),
            ("10", 10_000),
            ("3600", 10_000),
            ("1", 5_000),
            ("0", 5_000),
            ("Sun, 06 Nov 1994 08:49:45 GMT", 8_000),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 5_000),
            ("99999999999999999999", 5_000),
            ("-1", 5_000),
            ("soon", 5_000),
            ("", 5_000),
        ] {
            let verdict = verdict(&answered(503, Some(retry_after)), 0, now(), 0.5);
            assert_eq!(verdict.next, Next::After(pause), "{retry_after}");
        }
    }

    #[test]
    fn a_target_has_its_own_statuses_and_pauses() {
        let retry = serde_json::json!({ "schedule_seconds": [60], "statuses": [404, "5xx"] });
        let retry: Retry = serde_json::from_value(retry).unwrap();
        let next = |status, tried| super::verdict(&retry, &answered(status, None), tried, now(), 0.5).next;
        assert_eq!(next(404, 0), Next::After(60_000));
        assert!(matches!(next(404, 1), Next::GiveUp(_)));
        assert!(matches!(next(429, 0), Next::GiveUp(_)));
        assert_eq!(next(200, 0), Next::Done);
        let slow = Err(OutboundError::TooSlow(Duration::from_secs(10)));
        assert_eq!(
            super::verdict(&retry, &slow, 0, now(), 0.5).next,
            Next::After(60_000)
        );
    }
}
