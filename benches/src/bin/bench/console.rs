//! Measures the console in Chromium, over the runner that `make run` serves: the first sight of the list of
//! runs, updates, a table and a chart of 10,000 rows, 10 MB of JSON, and a list of 100,000 runs.

use std::path::Path;

use platform::config::variables;
use serde_json::{Value, json};
use tempfile::tempdir;
use tests::lambda::Emulators;

use crate::emulator::Emulator;
use crate::report::{Figure, Row};
use crate::runner::Runner;
use crate::runs::{ended, start};
use crate::statistics::{median, percentile, worst};
use crate::{Result, programs, say};

const PART: &str = "console";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/console/bench/measure.mjs");
/// Runs of the short list.
const FEW: u64 = 50;
const MANY: u64 = 100_000;
/// Longest time that a page may stand still, in milliseconds.
const STILL_MS: f64 = 100.0;

pub async fn measure() -> Result<Vec<Row>> {
    let (Some(chromium), Some(console)) = (
        programs::variable("CHROMIUM"),
        programs::variable(variables::CONSOLE_DIR.name),
    ) else {
        say(
            "the console is left out: `make bench` sets MILLRACE_CONSOLE_DIR, and CHROMIUM where it finds one",
        );
        return Ok(Vec::new());
    };
    let program = programs::of_profile("debug", "millrace")?;
    let folder = tempdir()?;
    let setting = (variables::CONSOLE_DIR.name, console.as_str());
    let runner = Runner::start_program(&program, &folder.path().join("few"), [setting])?;
    for number in 1..FEW {
        let input = json!({ "title": format!("Horse {number}") });
        start(&runner, "Approval", &format!("horse-{number}"), &input)?;
    }
    let run = start(&runner, "Approval", "measured", &json!({ "title": "Horse" }))?;
    let whole = browse(&runner, &chromium, Some(&run))?;
    let mut rows = rows_of(&whole)?;
    drop(runner);

    let emulators = Emulators::start(&programs::binary("emulators")?, &folder.path().join("aws"));
    let variables = emulators.of_a_runner();
    let settings = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let runner = Runner::start_program(&program, &folder.path().join("many"), settings.chain([setting]))?;
    let sample = start(&runner, "Steps", "sample", &json!({ "steps": 1 }))?;
    ended(&runner, &sample).await?;
    let emulator = Emulator::new(&emulators);
    let sample = emulator
        .run_sample(sample.rsplit('/').next().unwrap_or_default())
        .await?;
    say("filling 100,000 runs");
    emulator.fill_runs(&sample, 0..MANY).await?;
    rows.extend(lists_of(&browse(&runner, &chromium, None)?, "100,000")?);
    Ok(rows)
}

/// Runs the script against a runner; without a run it looks at the list alone.
fn browse(runner: &Runner, chromium: &str, run: Option<&str>) -> Result<Value> {
    let origin = runner.base_url().trim_end_matches("/api/v1");
    let mut command = programs::command(Path::new("node"));
    command.arg(SCRIPT).envs([
        ("ORIGIN", origin),
        ("TOKEN", runner.token()),
        ("CHROMIUM", chromium),
    ]);
    if let Some(run) = run.and_then(|path| path.strip_prefix("/workflows/runs/")) {
        command.env("RUN", run);
    }
    let output = command.output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("the browser: {}", String::from_utf8_lossy(&output.stderr)).into())
}

fn lists_of(measured: &Value, count: &str) -> Result<Vec<Row>> {
    let listed = number(measured, "/list_pages/rows")?;
    let sight = |from: &str, pointer: &str| {
        let loads = numbers(measured, pointer)?;
        let what = format!("first row among {count} runs, from {from}");
        let row = Row::new(PART, what, Figure::Milliseconds(median(&loads)))
            .unlucky("p95", Figure::Milliseconds(percentile(&loads, 0.95)))
            .held_against("wanted", Figure::Milliseconds(500.0));
        Result::Ok(row)
    };
    Ok(vec![
        sight("the address, signing in", "/list")?,
        sight("the click that signs in", "/list_signed_in")?,
        stands_still(
            &format!("{listed} runs read and scrolled"),
            measured,
            "/list_pages/longest",
        )?,
    ])
}

fn rows_of(measured: &Value) -> Result<Vec<Row>> {
    let updates = numbers(measured, "/updates/times")?;
    let gaps = numbers(measured, "/grid/gaps")?;
    let frames = number(measured, "/grid/frames")? / (number(measured, "/grid/ms")? / 1e3);
    let mut rows = lists_of(measured, &FEW.to_string())?;
    rows.extend([
        Row::new(
            PART,
            "an update of a run, from its post to the screen",
            Figure::Milliseconds(median(&updates)),
        )
        .unlucky("p95", Figure::Milliseconds(percentile(&updates, 0.95)))
        .held_against("wanted at p95", Figure::Milliseconds(300.0)),
        Row::new(
            PART,
            "frames of a scroll through 10,000 rows",
            Figure::PerSecond(frames),
        )
        .unlucky("longest frame", Figure::Milliseconds(worst(&gaps)))
        .held_against("wanted", Figure::PerSecond(60.0)),
        stands_still("10,000 rows shown and scrolled", measured, "/grid/longest")?,
        Row::new(
            PART,
            "a chart of 10,000 rows, drawn",
            Figure::Milliseconds(number(measured, "/chart/took")?),
        ),
        stands_still("that chart, drawn and pointed at", measured, "/chart/longest")?,
        stands_still("a run with 10 MB of JSON opened", measured, "/json/longest")?,
    ]);
    Ok(rows)
}

/// Longest task of a page. Tasks under 50 ms are not reported by the browser, and count as none.
fn stands_still(what: &str, measured: &Value, pointer: &str) -> Result<Row> {
    let longest = number(measured, pointer)?;
    let row = Row::new(
        PART,
        format!("longest task: {what}"),
        Figure::Milliseconds(longest),
    )
    .held_against("wanted below", Figure::Milliseconds(STILL_MS));
    Ok(row)
}

/// Fails where the script measured nothing.
fn number(measured: &Value, pointer: &str) -> Result<f64> {
    let value = measured.pointer(pointer).and_then(Value::as_f64);
    value.ok_or_else(|| format!("the browser measured no {pointer}").into())
}

fn numbers(measured: &Value, pointer: &str) -> Result<Vec<f64>> {
    let values = measured.pointer(pointer).and_then(Value::as_array);
    let values: Vec<f64> = values.into_iter().flatten().filter_map(Value::as_f64).collect();
    match values.is_empty() {
        true => Err(format!("the browser measured no {pointer}").into()),
        false => Ok(values),
    }
}
