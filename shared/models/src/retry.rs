//! Decides whether and when a failed request is sent again.
//!
//! This is the only place that retries: the SDK's own retries are off, because they know neither the time
//! limit of the call nor whether the caller has received a part of the answer.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::error::ModelError;
use crate::limits::Limits;
use crate::provider::{Call, Outlet, Provider, Reply};

/// Sends a request until it gets an answer, a permanent failure, or the time is over. `ends_at` is the end of
/// the call.
pub(crate) async fn repeated(
    limits: &Limits,
    ends_at: Instant,
    random: fn() -> f64,
    provider: &dyn Provider,
    call: &Call<'_>,
    outlet: &mut Outlet<'_>,
) -> Result<Reply, ModelError> {
    let mut attempt = 1_u32;
    loop {
        let failure = match provider.send(call, outlet).await {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        let error = failure.error;
        if !failure.passes || outlet.has_given() || attempt >= limits.attempts {
            return Err(error);
        }
        let pause = pause(limits, attempt, error.retry_after_ms(), random());
        let is_in_time = Instant::now()
            .checked_add(pause)
            .is_some_and(|sent_at| sent_at < ends_at);
        if pause > limits.longest_pause || !is_in_time {
            return Err(error);
        }
        warn!(
            model = call.model,
            attempt,
            kind = error.kind().code(),
            %error,
            pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            "a request to the language model failed and is repeated"
        );
        sleep(pause).await;
        attempt += 1;
    }
}

/// Returns the pause that the provider requests, or else twice the previous pause, multiplied by a random
/// factor from 0.5 to 1: clients that failed together do not retry together.
fn pause(limits: &Limits, attempt: u32, told_ms: Option<u64>, random: f64) -> Duration {
    if let Some(told_ms) = told_ms {
        return Duration::from_millis(told_ms);
    }
    let doubled = limits.first_pause.saturating_mul(1_u32 << (attempt - 1).min(16));
    doubled.min(limits.longest_pause).mul_f64(0.5 + random / 2.0)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use crate::answer::{Content, StopReason, Usage};
    use crate::client::Client;
    use crate::error::ModelErrorKind;
    use crate::model::Model;
    use crate::provider::{Failure, Form};
    use crate::request::{Message, Request};

    /// Fails with these failures in turn, then answers. Records the times of the requests.
    #[derive(Default)]
    struct Failing {
        failures: Mutex<VecDeque<Failure>>,
        asked_at: Mutex<Vec<Instant>>,
        /// Text sent to the sink before each failure.
        text: &'static str,
    }

    #[async_trait]
    impl Provider for Failing {
        async fn send(&self, _: &Call<'_>, outlet: &mut Outlet<'_>) -> Result<Reply, Failure> {
            self.asked_at.lock().unwrap().push(Instant::now());
            let failure = self.failures.lock().unwrap().pop_front();
            outlet.text(self.text);
            match failure {
                Some(failure) => Err(failure),
                None => Ok(Reply {
                    content: vec![Content::of_text("x")],
                    stop: StopReason::End,
                    usage: Usage::default(),
                    model: None,
                }),
            }
        }
    }

    impl Failing {
        fn with(failures: impl IntoIterator<Item = Failure>) -> Self {
            Self {
                failures: Mutex::new(failures.into_iter().collect()),
                ..Self::default()
            }
        }

        /// Returns the pauses between the requests, in milliseconds.
        fn pauses_ms(&self) -> Vec<u128> {
            let asked_at = self.asked_at.lock().unwrap();
            asked_at
                .windows(2)
                .map(|pair| (pair[1] - pair[0]).as_millis())
                .collect()
        }
    }

    fn status(status: u16, pause_ms: Option<u64>) -> Failure {
        Failure::of_status(status, None, "", pause_ms)
    }

    async fn run(provider: &Failing, limit_ms: u64, random: fn() -> f64) -> Result<Reply, ModelError> {
        let request = Request::default();
        let call = Call {
            request: &request,
            model: "m",
            form: Form::Free,
            further: &[],
        };
        let mut sink = |_: &str| {};
        let mut outlet = Outlet::new(Some(&mut sink));
        let ends_at = Instant::now() + Duration::from_millis(limit_ms);
        repeated(&Limits::default(), ends_at, random, provider, &call, &mut outlet).await
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_within_their_jitter_up_to_the_last_attempt() {
        for (random, pauses) in [
            ((|| 0.0) as fn() -> f64, [250, 500, 1_000]),
            (|| 1.0, [500, 1_000, 2_000]),
        ] {
            let provider = Failing::with((0..3).map(|_| status(503, None)));
            run(&provider, 60_000, random).await.unwrap();
            assert_eq!(provider.pauses_ms(), pauses);
            let provider = Failing::with((0..4).map(|_| status(503, None)));
            let error = run(&provider, 60_000, random).await.unwrap_err();
            assert_eq!(error.kind(), ModelErrorKind::Unavailable);
            assert_eq!(provider.pauses_ms(), pauses);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_that_the_provider_asks_for_is_kept() {
        let asked = [
            status(429, Some(7_000)),
            status(503, Some(0)),
            status(429, Some(20_000)),
        ];
        let provider = Failing::with(asked);
        run(&provider, 60_000, || 0.5).await.unwrap();
        assert_eq!(provider.pauses_ms(), [7_000, 0, 20_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_beyond_the_call_or_the_longest_is_the_callers() {
        for (pause_ms, limit_ms) in [(20_001, 60_000), (7_000, 7_000), (u64::MAX, 60_000)] {
            let provider = Failing::with([status(429, Some(pause_ms))]);
            let began_at = Instant::now();
            let error = run(&provider, limit_ms, || 0.5).await.unwrap_err();
            assert_eq!(error.retry_after_ms(), Some(pause_ms));
            assert_eq!(
                (began_at.elapsed(), provider.pauses_ms().len()),
                (Duration::ZERO, 0)
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_the_time_of_the_call_does_not_allow_is_not_begun() {
        let provider = Failing::with((0..3).map(|_| status(503, None)));
        let began_at = Instant::now();
        let error = run(&provider, 1_500, || 1.0).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Unavailable);
        assert_eq!(
            (began_at.elapsed().as_millis(), provider.pauses_ms()),
            (500, vec![500])
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_pass_or_was_partly_given_is_not_repeated() {
        for provider in [
            Failing::with([status(400, None)]),
            Failing::with([Failure::too_slow(Duration::from_secs(1))]),
            Failing {
                text: "given",
                ..Failing::with([Failure::broke_off()])
            },
        ] {
            run(&provider, 60_000, || 0.5).await.unwrap_err();
            assert_eq!(provider.asked_at.lock().unwrap().len(), 1);
        }
    }

    /// The provider never answers.
    #[tokio::test(start_paused = true)]
    async fn the_whole_call_has_its_limit() {
        struct Never;
        #[async_trait]
        impl Provider for Never {
            async fn send(&self, _: &Call<'_>, _: &mut Outlet<'_>) -> Result<Reply, Failure> {
                std::future::pending().await
            }
        }
        let client = Client::new(Box::new(Never), "m".to_owned(), Limits::default(), || 0.5);
        for (time_limit, seconds) in [
            (None, 120),
            (Some(Duration::from_secs(300)), 300),
            (Some(Duration::MAX), 86_400),
        ] {
            let request = Request {
                messages: vec![Message::user("x")],
                time_limit,
                ..Request::default()
            };
            let began_at = Instant::now();
            let error = client.converse(&request, None).await.unwrap_err();
            assert_eq!(error.kind(), ModelErrorKind::Timeout);
            assert_eq!(began_at.elapsed().as_secs(), seconds);
        }
    }
}
