//! Sends spans and log records to a collector, on a thread of its own.
//!
//! What waits has a limit in bytes; beyond it new items are dropped and counted. A collector that is down or
//! slow is asked again after a back-off, and causes one warning a minute. The thread's own log lines are not
//! exported, because each would cause another.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use prost::Message;
use tokio::runtime::Builder;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use super::otlp::{self, Source};
use super::settings::Settings;
use crate::clock::Clock;
use crate::config::{AwsEnvironment, ConfigError};
use crate::outbound::{HeaderMap, Method, Request, Reuse, Trusted, retry_after_ms};

/// Most bytes of a signal that wait.
const MAX_WAITING_BYTES: usize = 4 * 1_024 * 1_024;
/// Waiting bytes at which an export begins at once.
const FULL_BYTES: usize = 256 * 1_024;
/// Time for which items are collected.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longest wait of a caller for the export.
const FLUSH: Duration = Duration::from_millis(500);
/// Time after a flush that was too slow in which callers do not wait.
const FLUSH_PAUSE: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Least time between two warnings.
const WARN_INTERVAL: Duration = Duration::from_secs(60);
/// Answers are short, and only their status counts.
const MAX_ANSWER_BYTES: u64 = 64 * 1_024;

thread_local! {
    static IS_EXPORTER: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn is_exporter() -> bool {
    IS_EXPORTER.get()
}

/// Span or log record.
pub(super) trait Item: Message + Default + Clone {
    const NAME: &str;

    fn waiting(state: &mut State) -> &mut Waiting<Self>;

    /// Returns the body of the request that exports the items.
    fn request(source: &Source, items: &[Self]) -> Vec<u8>;
}

impl Item for Span {
    const NAME: &str = "traces";

    fn waiting(state: &mut State) -> &mut Waiting<Self> {
        &mut state.traces
    }

    fn request(source: &Source, items: &[Self]) -> Vec<u8> {
        otlp::trace_request(source, items)
    }
}

impl Item for LogRecord {
    const NAME: &str = "logs";

    fn waiting(state: &mut State) -> &mut Waiting<Self> {
        &mut state.logs
    }

    fn request(source: &Source, items: &[Self]) -> Vec<u8> {
        otlp::log_request(source, items)
    }
}

pub(super) struct Waiting<T> {
    url: Option<String>,
    items: Vec<T>,
    /// Size of the items in a request.
    bytes: usize,
    dropped: u64,
}

impl<T> Waiting<T> {
    fn of(url: Option<String>) -> Self {
        Self {
            url,
            items: Vec::new(),
            bytes: 0,
            dropped: 0,
        }
    }
}

pub(super) struct State {
    traces: Waiting<Span>,
    logs: Waiting<LogRecord>,
    /// Set while exports fail.
    retry_at: Option<Instant>,
    /// Callers do not wait until then.
    no_flush_until: Option<Instant>,
}

pub(super) struct Exporter {
    state: Mutex<State>,
    wake: Notify,
    /// Number of flushes that callers have asked for.
    asked: AtomicU64,
    /// Number of those that are done.
    done: watch::Sender<u64>,
}

impl Exporter {
    pub(super) fn start(settings: Settings, machine: &AwsEnvironment) -> Result<Arc<Self>, ConfigError> {
        let exporter = Arc::new(Self {
            state: Mutex::new(State {
                traces: Waiting::of(settings.traces),
                logs: Waiting::of(settings.logs),
                retry_at: None,
                no_flush_until: None,
            }),
            wake: Notify::new(),
            asked: AtomicU64::new(0),
            done: watch::Sender::new(0),
        });
        let sender = Sender {
            client: Trusted::new(CONNECT, Reuse::of(machine)),
            headers: settings.headers,
            timeout: settings.timeout,
            source: Source::new(&settings.resource, crate::VERSION),
            pause: FIRST_PAUSE,
            warned_at: None,
            dropped: 0,
            exporter: Arc::clone(&exporter),
        };
        let failed = |error| ConfigError::new(format!("The export of traces did not start: {error}."));
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        std::thread::Builder::new()
            .name("telemetry".to_owned())
            .spawn(move || {
                IS_EXPORTER.set(true);
                runtime.block_on(sender.run());
            })
            .map_err(failed)?;
        Ok(exporter)
    }

    pub(super) fn takes<T: Item>(&self) -> bool {
        T::waiting(&mut self.state.lock()).url.is_some()
    }

    pub(super) fn add<T: Item>(&self, item: T) {
        let bytes = item.encoded_len();
        let is_full = {
            let mut state = self.state.lock();
            let waiting = T::waiting(&mut state);
            if waiting.url.is_none() {
                return;
            }
            let before = waiting.bytes;
            if before + bytes > MAX_WAITING_BYTES {
                waiting.dropped += 1;
                return;
            }
            waiting.items.push(item);
            waiting.bytes += bytes;
            before < FULL_BYTES && waiting.bytes >= FULL_BYTES
        };
        if is_full {
            self.wake.notify_one();
        }
    }

    /// Exports what waits, and returns after it was sent, or after 500 ms. Does not wait while the collector
    /// fails.
    pub(super) async fn flush(&self) {
        {
            let state = self.state.lock();
            let is_paused = |until: Option<Instant>| until.is_some_and(|until| Instant::now() < until);
            let is_empty = state.traces.items.is_empty() && state.logs.items.is_empty();
            if is_empty || is_paused(state.retry_at) || is_paused(state.no_flush_until) {
                return;
            }
        }
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut done = self.done.subscribe();
        self.wake.notify_one();
        if timeout(FLUSH, done.wait_for(|done| *done >= number))
            .await
            .is_err()
        {
            self.state.lock().no_flush_until = Some(Instant::now() + FLUSH_PAUSE);
        }
    }
}

enum Outcome {
    Taken,
    /// The collector may take the same items later, not before this time has passed.
    Later(Option<Duration>, String),
    /// The collector does not take these items.
    Refused(String),
}

struct Sender {
    exporter: Arc<Exporter>,
    client: Trusted,
    headers: HeaderMap,
    timeout: Duration,
    source: Source,
    /// Back-off after the next failure.
    pause: Duration,
    warned_at: Option<Instant>,
    /// Items that were dropped since the last warning.
    dropped: u64,
}

impl Sender {
    async fn run(mut self) {
        loop {
            tokio::select! { () = self.exporter.wake.notified() => {}, () = sleep(INTERVAL) => {} }
            let number = self.exporter.asked.load(Ordering::SeqCst);
            let retry_at = self.exporter.state.lock().retry_at;
            if retry_at.is_none_or(|at| at <= Instant::now()) {
                self.export::<Span>().await;
                self.export::<LogRecord>().await;
            }
            self.exporter.done.send_replace(number);
        }
    }

    async fn export<T: Item>(&mut self) {
        let (url, items, dropped) = {
            let mut state = self.exporter.state.lock();
            let waiting = T::waiting(&mut state);
            let Some(url) = waiting.url.clone() else { return };
            waiting.bytes = 0;
            (
                url,
                std::mem::take(&mut waiting.items),
                std::mem::take(&mut waiting.dropped),
            )
        };
        if dropped > 0 {
            self.dropped += dropped;
            self.warn(T::NAME, "more items came than were sent");
        }
        if items.is_empty() {
            return;
        }
        let outcome = self.send(&url, T::request(&self.source, &items)).await;
        match outcome {
            Outcome::Taken => {
                self.pause = FIRST_PAUSE;
                let mut state = self.exporter.state.lock();
                (state.retry_at, state.no_flush_until) = (None, None);
            }
            Outcome::Refused(cause) => self.warn(T::NAME, &cause),
            Outcome::Later(pause, cause) => {
                self.give_back(items, pause);
                self.warn(T::NAME, &cause);
            }
        }
    }

    async fn send(&self, url: &str, body: Vec<u8>) -> Outcome {
        let request = Request {
            method: Method::POST,
            headers: self.headers.clone(),
            body,
            ..Request::get(url, MAX_ANSWER_BYTES, self.timeout)
        };
        let mut answer = match self.client.send(request).await {
            Ok(answer) => answer,
            Err(error) => {
                let cause = error
                    .cause()
                    .map(|cause| format!(": {cause}"))
                    .unwrap_or_default();
                return Outcome::Later(None, format!("{error}{cause}"));
            }
        };
        let status = answer.status;
        let retry_after = answer
            .headers
            .get("retry-after")
            .and_then(|value| value.to_str().ok());
        let pause = retry_after.and_then(|text| retry_after_ms(text, Clock::System.now()));
        // The connection serves the next request only once its answer is read.
        let _ = answer.whole().await;
        let cause = format!("it answered with the status {status}");
        match status {
            200..300 => Outcome::Taken,
            429 | 502..=504 => Outcome::Later(pause.map(Duration::from_millis), cause),
            _ => Outcome::Refused(cause),
        }
    }

    /// Puts items back before those that came meanwhile, and sets the time of the next export.
    fn give_back<T: Item>(&mut self, mut items: Vec<T>, pause: Option<Duration>) {
        let pause = pause.map_or(self.pause, |pause| pause.clamp(self.pause, LONGEST_PAUSE));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        let mut state = self.exporter.state.lock();
        state.retry_at = Some(Instant::now() + pause);
        let waiting = T::waiting(&mut state);
        let bytes: usize = items.iter().map(T::encoded_len).sum();
        if bytes + waiting.bytes > MAX_WAITING_BYTES {
            // The older ones matter less.
            waiting.dropped += items.len() as u64;
            return;
        }
        items.append(&mut waiting.items);
        waiting.items = items;
        waiting.bytes += bytes;
    }

    fn warn(&mut self, signal: &str, cause: &str) {
        let now = Instant::now();
        if self.warned_at.is_some_and(|at| now < at + WARN_INTERVAL) {
            return;
        }
        self.warned_at = Some(now);
        warn!(
            signal,
            cause,
            dropped = std::mem::take(&mut self.dropped),
            "the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take telemetry"
        );
    }
}
