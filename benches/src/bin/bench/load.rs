//! Runs clients that keep a service busy.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::Result;
use crate::statistics::{median, percentile};

/// Concurrent clients; each sends one request at a time.
pub const CLIENTS: usize = 16;
/// Duration of one round. Short, so that the two sides alternate often.
const ROUND: Duration = Duration::from_millis(1_000);

/// Rounds of one side.
pub struct Side {
    latencies_ms: Vec<f64>,
    medians_ms: Vec<f64>,
    rates: Vec<f64>,
}

impl Side {
    pub const fn new() -> Self {
        Self {
            latencies_ms: Vec::new(),
            medians_ms: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Runs one round: every client calls `request` repeatedly, each time with a unique number.
    pub async fn round<F, Fut>(&mut self, request: F) -> Result<()>
    where
        F: Fn(usize) -> Fut + Clone + Send + 'static,
        Fut: Future<Output = Result<()>> + Send,
    {
        let started = Instant::now();
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            let request = request.clone();
            clients.spawn(async move {
                let mut latencies = Vec::new();
                while started.elapsed() < ROUND {
                    let start = Instant::now();
                    request(latencies.len() * CLIENTS + client).await?;
                    latencies.push(start.elapsed().as_secs_f64() * 1e3);
                }
                Result::Ok(latencies)
            });
        }
        let mut latencies = Vec::new();
        for client in clients.join_all().await {
            latencies.extend(client?);
        }
        self.rates
            .push(latencies.len() as f64 / started.elapsed().as_secs_f64());
        self.medians_ms.push(median(&latencies));
        self.latencies_ms.extend(latencies);
        Ok(())
    }

    /// Median of the rounds' medians, in milliseconds.
    pub fn p50_ms(&self) -> f64 {
        median(&self.medians_ms)
    }

    /// 99th percentile of all requests, in milliseconds.
    pub fn p99_ms(&self) -> f64 {
        percentile(&self.latencies_ms, 0.99)
    }

    /// Median of the rounds' requests per second.
    pub fn rate(&self) -> f64 {
        median(&self.rates)
    }
}
