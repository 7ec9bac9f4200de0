//! Measures listing 50 workflow runs by status, type, document and time, among 1,000 runs and among 100,000,
//! in an emulator of DynamoDB. The time must not depend on the number of runs.

use std::time::Instant;

use serde_json::{Value, json};
use tempfile::tempdir;
use tests::lambda::Emulators;

use crate::emulator::Emulator;
use crate::emulator_runs::began;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, json as json_of};
use crate::runs::{ended, start};
use crate::statistics::{median, percentile};
use crate::{Result, programs, say};

const PART: &str = "listing";
const FEW: u64 = 1_000;
const MANY: u64 = 100_000;
const REQUESTS: usize = 101;
const PAGE: u64 = 50;

pub async fn measure() -> Result<Vec<Row>> {
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
    let kinds = kinds()?;
    let mut few = Vec::new();
    for kind in &kinds {
        few.push(kind.measure(&runner, &emulator).await?);
    }
    say("filling 100,000 runs");
    emulator.fill_runs(&sample, FEW..MANY).await?;
    let mut rows = Vec::new();
    for (kind, (few, few_units)) in kinds.iter().zip(few) {
        let (many, many_units) = kind.measure(&runner, &emulator).await?;
        let what = format!("{PAGE} of 100,000 runs {}", kind.what);
        rows.push(
            Row::new(PART, format!("{what}: p50"), Figure::Milliseconds(median(&many)))
                .unlucky("p99", Figure::Milliseconds(percentile(&many, 0.99)))
                .beside(
                    "of 1,000",
                    Figure::Milliseconds(median(&few)),
                    Comparison::times(median(&many), median(&few)),
                ),
        );
        rows.push(
            Row::new(PART, format!("{what}: read units"), Figure::Count(many_units)).beside(
                "of 1,000",
                Figure::Count(few_units),
                Comparison::Sizes(many_units / few_units),
            ),
        );
    }
    Ok(rows)
}

struct Kind {
    what: &'static str,
    body: Value,
    /// Index that the service reads.
    index: &'static str,
    pk: &'static str,
}

fn kinds() -> Result<[Kind; 4]> {
    Ok([
        Kind {
            what: "by status",
            body: json!({ "status": "FAILED" }),
            index: "gsi2",
            pk: "runs#status#FAILED",
        },
        Kind {
            what: "by type",
            body: json!({ "type": "Type7" }),
            index: "gsi3",
            pk: "runs#type#Type7",
        },
        Kind {
            what: "by document",
            body: json!({ "document_id": "document-7" }),
            index: "gsi4",
            pk: "runs#document#document-7",
        },
        Kind {
            what: "by time",
            body: json!({ "start": began(100)?, "end": began(900)? }),
            index: "gsi1",
            pk: "runs",
        },
    ])
}

impl Kind {
    /// Returns the time of each listing, in milliseconds, and the read units of one.
    async fn measure(&self, runner: &Runner, emulator: &Emulator) -> Result<(Vec<f64>, f64)> {
        let mut took = Vec::new();
        for _ in 0..REQUESTS {
            let request = runner.post("/workflows/runs", &self.body);
            let asked = Instant::now();
            answer(request).await?;
            took.push(asked.elapsed().as_secs_f64() * 1e3);
        }
        let page = json_of(runner.post("/workflows/runs", &self.body)).await?;
        let found = page.get("runs").and_then(Value::as_array).map_or(0, Vec::len);
        if found as u64 != PAGE {
            return Err(format!("a listing {} has {found} runs", self.what).into());
        }
        let most = i32::try_from(PAGE)? + 1;
        Ok((took, emulator.listing_units(self.index, self.pk, most).await?))
    }
}
