//! Runs the benchmarks: the cost of Millrace over its foundations. `make bench` runs them on release builds.
//!
//! An absolute time means little on a machine that others use too. So where a comparison exists, both sides
//! are measured in one run, in turns, so that noise affects both. No time makes the benchmarks fail. A part
//! that fails is named at the end, after the numbers of all others.
//!
//! The table goes to standard output; `BENCH_JSON=<file>` writes the same numbers as JSON. Arguments name the
//! parts to run: `make bench ARGS="ready lambda"`. Everything listens on 127.0.0.1, keeps its data in
//! temporary folders and is stopped at the end.

mod agents;
mod appends;
mod console;
mod deliveries;
mod emulator;
mod emulator_runs;
mod engine;
mod event_log;
mod events;
mod imports;
mod lambda;
mod listing;
mod load;
mod memory;
mod neighbours;
mod plain;
mod processes;
mod programs;
mod prompts;
mod query;
mod ready;
mod report;
mod restate;
mod results;
mod runner;
mod runs;
mod scale;
mod statistics;
mod stores;
mod templates;
mod tpch;

use std::io::Write as _;
use std::process::ExitCode;

use report::Report;

/// Error for the user of the benchmarks.
type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

/// Names of the parts, in order.
const PARTS: [&str; 19] = [
    "lambda",
    "ready",
    "prompts",
    "templates",
    "query",
    "tpch",
    "results",
    "imports",
    "appends",
    "scale",
    "engine",
    "listing",
    "runs",
    "events",
    "event-log",
    "processes",
    "agents",
    "console",
    "neighbours",
];

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.iter().find(|part| !PARTS.contains(&part.as_str())) {
        let parts = PARTS.join(", ");
        return Err(
            format!("There is no part '{unknown}'. The parts are {parts}; without a name, all.").into(),
        );
    }
    let mut report = Report::default();
    for part in PARTS {
        if !arguments.is_empty() && !arguments.iter().any(|name| name == part) {
            continue;
        }
        say(&format!("measuring: {part}"));
        let measured = match part {
            "lambda" => lambda::measure().await,
            "ready" => ready::measure().await,
            "prompts" => prompts::measure().await,
            "templates" => templates::measure(),
            "query" => query::measure().await,
            "tpch" => tpch::measure().await,
            "results" => results::measure(),
            "imports" => imports::measure().await,
            "appends" => appends::measure().await,
            "scale" => scale::measure().await,
            "engine" => engine::measure(),
            "listing" => listing::measure(&mut report).await.map(|()| Vec::new()),
            "runs" => runs::measure().await,
            "events" => events::measure().await,
            "event-log" => event_log::measure().await,
            "processes" => processes::measure().await,
            "agents" => agents::measure().await,
            "console" => console::measure().await,
            _ => neighbours::measure().await,
        };
        report.add(part, measured);
    }
    std::io::stdout().write_all(report::table(&report.rows).as_bytes())?;
    if let Some(path) = programs::variable("BENCH_JSON") {
        std::fs::write(path, report::json(&report.rows)?)?;
    }
    match report.failures.as_slice() {
        [] => Ok(()),
        failures => Err(failures.join("; ").into()),
    }
}

/// Prints a line of progress.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
