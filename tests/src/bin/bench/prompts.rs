//! Prompt templates under load: reading and creating one, through HTTP, with 16 clients.
//!
//! Beside each stand the same DynamoDB calls alone, from 16 clients of the AWS SDK on the same emulator. What HTTP takes
//! beyond that is ours: the HTTP server, token, permission, shapes, log line and audit.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::Result;
use crate::emulator::Emulator;
use crate::load::Side;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, id, json};
use crate::statistics::median;

const PART: &str = "prompts";
/// Rounds of each side.
const ROUNDS: usize = 10;
/// Writes with one client, of each side.
const WRITES: usize = 400;
/// Templates that are read.
const PROMPTS: usize = 256;

/// A template of an ordinary size: about a kilobyte.
pub fn body(name: &str) -> Value {
    json!({
        "name": name,
        "role": "assistant",
        "description": "Answers a customer's question about an order.",
        "content_type": "handlebars",
        "content": "You help {{customer}} with order {{order}}. ".repeat(16),
        "test_data": { "customer": "Ada", "order": "4711" },
        "inputSchema": {
            "type": "object",
            "properties": { "customer": { "type": "string" }, "order": { "type": "string" } },
            "required": ["customer", "order"]
        },
        "tags": ["orders", "support"]
    })
}

/// Measures it.
pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let runner = Arc::new(Runner::start(&folder.path().join("data"))?);
    let emulator = Emulator::of(runner.data_dir())?;
    let mut ids = Vec::new();
    for number in 0..PROMPTS {
        let made = json(runner.post("/prompts", &body(&format!("prompt {number}")))).await?;
        ids.push(id(&made)?);
    }
    let sample = emulator.sample(ids.first().ok_or("no prompt template")?).await?;
    let ids = Arc::new(ids);

    let [mut get, mut get_alone, mut create, mut create_alone] = [const { Side::new() }; 4];
    for round in 0..=ROUNDS {
        let (of_runner, ids_of_runner) = (runner.clone(), ids.clone());
        get.round(move |number| {
            let request = of_runner.get(&format!("/prompts/{}", pick(&ids_of_runner, number)));
            async move { answer(request).await.map(drop) }
        })
        .await?;
        let (of_emulator, ids_of_emulator) = (emulator.clone(), ids.clone());
        get_alone
            .round(move |number| {
                let (emulator, id) = (of_emulator.clone(), pick(&ids_of_emulator, number).to_owned());
                async move { emulator.get(&id).await.map(drop) }
            })
            .await?;
        let of_runner = runner.clone();
        create
            .round(move |number| {
                let request = of_runner.post("/prompts", &body(&format!("new {number}")));
                async move { answer(request).await.map(drop) }
            })
            .await?;
        let (of_emulator, sample) = (emulator.clone(), sample.clone());
        create_alone
            .round(move |_| {
                let (emulator, sample) = (of_emulator.clone(), sample.clone());
                async move { emulator.create(&sample).await }
            })
            .await?;
        if round == 0 {
            // Connections were opened and caches filled.
            [get, get_alone, create, create_alone] = [const { Side::new() }; 4];
        }
    }
    let mut rows = compared("GET /prompts/{id}, 16 clients", &get, &get_alone);
    rows.extend(compared("POST /prompts, 16 clients", &create, &create_alone));
    rows.push(checked(&runner).await?);
    Ok(rows)
}

/// What the check in a child process adds to a write: a template beside one of the same size that needs none,
/// in turns.
async fn checked(runner: &Runner) -> Result<Row> {
    let template = body("checked");
    let mut text = template.clone();
    if let Value::Object(fields) = &mut text {
        fields.insert("content_type".to_owned(), "text".into());
        fields.remove("inputSchema");
    }
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..WRITES {
        for (times, body) in [(&mut with, &template), (&mut without, &text)] {
            let began = Instant::now();
            answer(runner.post("/prompts", body)).await?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    let (with, without) = (median(&with), median(&without));
    let row = Row::new(PART, "POST /prompts, 1 client: p50", Figure::Milliseconds(with));
    Ok(row.beside(
        "without a check",
        Figure::Milliseconds(without),
        Comparison::times(with, without),
    ))
}

fn pick(ids: &[String], number: usize) -> &str {
    ids.get(number % PROMPTS).map_or("", String::as_str)
}

fn compared(what: &str, ours: &Side, alone: &Side) -> Vec<Row> {
    const ALONE: &str = "emulator alone";
    let time = Row::new(PART, format!("{what}: p50"), Figure::Milliseconds(ours.p50_ms()))
        .unlucky("p99", Figure::Milliseconds(ours.p99_ms()))
        .beside(
            ALONE,
            Figure::Milliseconds(alone.p50_ms()),
            Comparison::share(ours.p50_ms(), alone.p50_ms()),
        );
    let rate = Row::new(
        PART,
        format!("{what}: throughput"),
        Figure::PerSecond(ours.rate()),
    )
    .beside(
        ALONE,
        Figure::PerSecond(alone.rate()),
        Comparison::share(1.0 / ours.rate(), 1.0 / alone.rate()),
    );
    vec![time, rate]
}
