//! Measures finding one workflow run by its id, and listing 50 by status, type, document, subscription and
//! time, among 1,000 runs and among a million, in an emulator of DynamoDB. The time must not depend on the
//! number of runs.

use std::time::Instant;

use serde_json::{Value, json};
use tempfile::tempdir;
use tests::lambda::Emulators;

use crate::emulator::Emulator;
use crate::emulator_runs::began;
use crate::report::{Comparison, Figure, Report, Row};
use crate::runner::{Runner, answer, json as json_of};
use crate::runs::{ended, start};
use crate::statistics::{median, percentile};
use crate::{Result, programs, say};

const PART: &str = "listing";
const FEW: u64 = 1_000;
/// Number of runs, unless `BENCH_RUNS` gives another.
const MANY: u64 = 1_000_000;
const REQUESTS: usize = 101;
const PAGE: u64 = 50;

/// Measures each kind of listing; one that fails leaves the others.
pub async fn measure(report: &mut Report) -> Result<()> {
    let many = match programs::variable("BENCH_RUNS") {
        Some(number) => number.parse()?,
        None => MANY,
    };
    let folder = tempdir()?;
    let emulators = Emulators::start(&programs::binary("emulators")?, &folder.path().join("aws"));
    let variables = emulators.of_a_runner();
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let runner = Runner::start_with(&folder.path().join("data"), variables)?;
    let emulator = Emulator::new(&emulators);
    let path = start(&runner, "Steps", "sample", &json!({ "steps": 1 }))?;
    ended(&runner, &path).await?;
    let sample = emulator
        .run_sample(path.rsplit('/').next().unwrap_or_default())
        .await?;
    emulator.fill_runs(&sample, 0..FEW).await?;
    let kinds = kinds(&runner).await?;
    let mut among_few = Vec::new();
    for kind in &kinds {
        among_few.push(kind.measure(&runner, &emulator).await);
    }
    say(&format!("filling {many} runs"));
    emulator.fill_runs(&sample, FEW..many).await?;
    for (kind, few) in kinds.iter().zip(among_few) {
        let rows = match few {
            Ok(few) => kind.compare(&runner, &emulator, few, many).await,
            Err(error) => Err(error),
        };
        report.add(&format!("{PART} {}", kind.what), rows);
    }
    Ok(())
}

struct Kind {
    what: &'static str,
    body: Value,
    /// Number of runs on a page.
    page: u64,
    /// Index that the service reads, and the partition there.
    index: Option<(&'static str, &'static str)>,
    /// Time that it may take, in milliseconds.
    target_ms: Option<f64>,
}

async fn kinds(runner: &Runner) -> Result<Vec<Kind>> {
    let newest = json_of(runner.post("/workflows/runs", &json!({ "type": "Type7" }))).await?;
    let run = newest
        .pointer("/runs/0/run_id")
        .ok_or("there are no runs of Type7")?;
    let of = |what, body, index| Kind {
        what,
        body,
        page: PAGE,
        index,
        target_ms: None,
    };
    Ok(vec![
        Kind {
            page: 1,
            target_ms: Some(20.0),
            ..of("by run id", json!({ "search_term": run }), None)
        },
        Kind {
            target_ms: Some(50.0),
            ..of(
                "by subscription",
                json!({ "rule_id": "rule-7" }),
                Some(("gsi5", "runs#rule#rule-7")),
            )
        },
        of(
            "by subscription and status",
            json!({ "rule_id": "rule-7", "status": "FAILED" }),
            None,
        ),
        of(
            "by status",
            json!({ "status": "FAILED" }),
            Some(("gsi2", "runs#status#FAILED")),
        ),
        of(
            "by type",
            json!({ "type": "Type7" }),
            Some(("gsi3", "runs#type#Type7")),
        ),
        of(
            "by document",
            json!({ "document_id": "document-7" }),
            Some(("gsi4", "runs#document#document-7")),
        ),
        of(
            "by time",
            json!({ "start": began(100)?, "end": began(900)? }),
            Some(("gsi1", "runs")),
        ),
    ])
}

/// The time of each listing, in milliseconds, and the read units of the index for one.
struct Measured {
    took: Vec<f64>,
    units: Option<f64>,
}

impl Kind {
    /// Measures among many runs, and compares with a few.
    async fn compare(
        &self,
        runner: &Runner,
        emulator: &Emulator,
        few: Measured,
        many: u64,
    ) -> Result<Vec<Row>> {
        let measured = self.measure(runner, emulator).await?;
        let what = format!("{} of {many} runs {}", self.page, self.what);
        let p50 = Row::new(
            PART,
            format!("{what}: p50"),
            Figure::Milliseconds(median(&measured.took)),
        )
        .unlucky("p99", Figure::Milliseconds(percentile(&measured.took, 0.99)));
        let mut rows = vec![match self.target_ms {
            Some(target_ms) => p50.held_against("wanted", Figure::Milliseconds(target_ms)),
            None => p50.beside(
                "of 1,000",
                Figure::Milliseconds(median(&few.took)),
                Comparison::times(median(&measured.took), median(&few.took)),
            ),
        }];
        if let (Some(units), Some(of_few)) = (measured.units, few.units) {
            rows.push(
                Row::new(PART, format!("{what}: read units"), Figure::Count(units)).beside(
                    "of 1,000",
                    Figure::Count(of_few),
                    Comparison::Sizes(units / of_few),
                ),
            );
        }
        Ok(rows)
    }

    async fn measure(&self, runner: &Runner, emulator: &Emulator) -> Result<Measured> {
        let mut took = Vec::new();
        for _ in 0..REQUESTS {
            let request = runner.post("/workflows/runs", &self.body);
            let start = Instant::now();
            answer(request).await?;
            took.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let page = json_of(runner.post("/workflows/runs", &self.body)).await?;
        let count = page.get("runs").and_then(Value::as_array).map_or(0, Vec::len);
        if count as u64 != self.page {
            return Err(format!("the listing has {count} runs, not {}", self.page).into());
        }
        let most = i32::try_from(PAGE)? + 1;
        let units = match self.index {
            Some((index, pk)) => Some(emulator.listing_units(index, pk, most).await?),
            None => None,
        };
        Ok(Measured { took, units })
    }
}
