//! Starting the local runner: from the start of its process until it says that it is ready and has answered an
//! authenticated request; on an empty data directory, and on one with 100,000 prompt templates.

use std::path::Path;
use std::time::Instant;

use tempfile::tempdir;

use crate::emulator::Emulator;
use crate::report::{Figure, Row};
use crate::runner::{Runner, answer, id, json};
use crate::statistics::{median, worst};
use crate::{Result, prompts};

const PART: &str = "ready";
/// Starts of each kind.
const STARTS: usize = 9;
/// Projects with few templates each, beside the one with many.
const SMALL_PROJECTS: usize = 400;
const PROMPTS_OF_SMALL: usize = 200;
const PROMPTS_OF_LARGE: usize = 20_000;

/// Measures it.
pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let full = folder.path().join("full");
    fill(&full).await?;
    // The first start after the filling tidies up after it.
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

/// Starts a runner, and stops it after its first answer: how long that took, in milliseconds.
async fn start(data_dir: &Path) -> Result<f64> {
    let started = Instant::now();
    let runner = Runner::start(data_dir)?;
    answer(runner.get("/prompts")).await?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

async fn fill(data_dir: &Path) -> Result<()> {
    let runner = Runner::start(data_dir)?;
    let made = json(runner.post("/prompts", &prompts::body("the sample"))).await?;
    let emulator = Emulator::of(data_dir)?;
    let sample = emulator.sample(&id(&made)?).await?;
    // The project of the request that is timed is one of the small ones.
    let small = (0..SMALL_PROJECTS).map(|number| match number {
        0 => ("demo".to_owned(), PROMPTS_OF_SMALL - 1),
        _ => (format!("project-{number}"), PROMPTS_OF_SMALL),
    });
    let large = ("large".to_owned(), PROMPTS_OF_LARGE);
    emulator.fill(&sample, small.chain([large])).await
}
