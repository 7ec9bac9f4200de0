//! Measures the start of the local runner, from the start of its process until it reports ready and has
//! answered an authenticated request: on an empty data directory, and on one with 100,000 prompt templates.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;
use tempfile::tempdir;
use tokio::task::JoinSet;

use crate::load::CLIENTS;
use crate::report::{Figure, Row};
use crate::runner::{Runner, answer};
use crate::statistics::{median, worst};
use crate::{Result, prompts};

const PART: &str = "ready";
const STARTS: usize = 9;
/// Templates of the full data directory.
const PROMPTS: usize = 100_000;

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let full = folder.path().join("full");
    fill(&full).await?;
    // The first start after the filling cleans up after it, so do not measure that one.
    start(&full).await?;
    let (mut on_empty, mut on_full) = (Vec::new(), Vec::new());
    for number in 0..STARTS {
        on_empty.push(start(&folder.path().join(format!("empty-{number}"))).await?);
        on_full.push(start(&full).await?);
    }
    let row = |what, times: &[f64]| {
        Row::new(PART, what, Figure::Milliseconds(median(times)))
            .unlucky("worst", Figure::Milliseconds(worst(times)))
    };
    Ok(vec![
        row("runner on an empty data directory", &on_empty),
        row("runner on 100,000 prompt templates", &on_full),
    ])
}

/// Starts a runner, and stops it after its first answer. Returns the time in milliseconds.
async fn start(data_dir: &Path) -> Result<f64> {
    let started = Instant::now();
    let runner = Runner::start(data_dir)?;
    answer(runner.get("/prompts")).await?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

async fn fill(data_dir: &Path) -> Result<()> {
    let runner = Arc::new(Runner::start(data_dir)?);
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (runner, next) = (runner.clone(), next.clone());
        clients.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= PROMPTS {
                    return Result::Ok(());
                }
                let mut body = prompts::body(&format!("prompt {number}"));
                // Use a content type that is not checked in a child process, because the check takes longer
                // than the rest.
                if let Value::Object(fields) = &mut body {
                    fields.insert("content_type".to_owned(), "text".into());
                    fields.remove("inputSchema");
                }
                answer(runner.post("/prompts", &body)).await?;
            }
        });
    }
    clients.join_all().await.into_iter().collect()
}
