//! `GET /metrics`: the metrics in the text format of Prometheus. Some are measured here, and not counted as
//! things happen: the depth of the queues, the open connections, and what the process uses.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use platform::metrics;

use crate::services::Services;

static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

/// Open connection, counted until it is dropped.
pub struct OpenConnection(());

impl OpenConnection {
    pub fn count() -> Self {
        CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        CONNECTIONS.fetch_sub(1, Ordering::Relaxed);
    }
}

const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn routes(services: Services) -> Router {
    Router::new().route("/metrics", get(handler)).with_state(services)
}

async fn handler(State(services): State<Services>) -> impl IntoResponse {
    measure(&services);
    ([(CONTENT_TYPE, FORMAT)], metrics::render().unwrap_or_default())
}

/// Measures everything; precedes each [`metrics::render`].
fn measure(services: &Services) {
    for (name, queue) in services.queues().iter() {
        metrics::queue_depth(name, &queue.depth());
    }
    metrics::connections(CONNECTIONS.load(Ordering::Relaxed));
    #[cfg(target_os = "linux")]
    if let Ok(usage) = process_usage() {
        metrics::process_usage(&usage);
    }
}

#[cfg(target_os = "linux")]
fn process_usage() -> procfs::ProcResult<metrics::ProcessUsage> {
    use procfs::process::{LimitValue, Process};

    let process = Process::myself()?;
    let (stat, limits) = (process.stat()?, process.limits()?);
    let ticks = procfs::ticks_per_second() as f64;
    Ok(metrics::ProcessUsage {
        cpu_seconds: (stat.utime + stat.stime) as f64 / ticks,
        resident_bytes: stat.rss * procfs::page_size(),
        virtual_bytes: stat.vsize,
        open_files: process.fd_count()? as u64,
        max_files: match limits.max_open_files.soft_limit {
            LimitValue::Value(files) => Some(files),
            LimitValue::Unlimited => None,
        },
        threads: u64::try_from(stat.num_threads).unwrap_or_default(),
        started_at_seconds: procfs::boot_time_secs()? as f64 + stat.starttime as f64 / ticks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn process_uses_what_it_uses() {
        let usage = process_usage().unwrap();
        assert!(usage.resident_bytes > 1_000_000 && usage.virtual_bytes > usage.resident_bytes);
        assert!(usage.open_files >= 3 && usage.threads >= 1);
        let now = platform::Clock::System.now().as_seconds() as f64;
        assert!((usage.started_at_seconds - now).abs() < 3_600.0, "{usage:?}");
    }

    #[test]
    fn connection_counts_until_it_is_dropped() {
        let open = || CONNECTIONS.load(Ordering::Relaxed);
        let before = open();
        let connection = OpenConnection::count();
        assert_eq!(open(), before + 1);
        drop(connection);
        assert_eq!(open(), before);
    }
}
