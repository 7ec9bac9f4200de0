//! Measures prompt templates under load: reading and creating one, through HTTP, with 16 clients.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::Result;
use crate::load::Side;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, id, json};
use crate::statistics::median;

const PART: &str = "prompts";
/// Rounds of each side.
const ROUNDS: usize = 10;
/// Writes with one client, on each side.
const WRITES: usize = 400;
/// Number of templates to read.
const PROMPTS: usize = 256;

/// Returns a template of an ordinary size: about a kilobyte.
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

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let runner = Arc::new(Runner::start(&folder.path().join("data"))?);
    let mut ids = Vec::new();
    for number in 0..PROMPTS {
        let prompt = json(runner.post("/prompts", &body(&format!("prompt {number}")))).await?;
        ids.push(id(&prompt)?);
    }
    let ids = Arc::new(ids);

    let [mut get, mut create] = [const { Side::new() }; 2];
    for round in 0..=ROUNDS {
        let (of_runner, ids_of_runner) = (runner.clone(), ids.clone());
        get.round(move |number| {
            let request = of_runner.get(&format!("/prompts/{}", pick(&ids_of_runner, number)));
            async move { answer(request).await.map(drop) }
        })
        .await?;
        let of_runner = runner.clone();
        create
            .round(move |number| {
                let request = of_runner.post("/prompts", &body(&format!("new {number}")));
                async move { answer(request).await.map(drop) }
            })
            .await?;
        if round == 0 {
            // The first round opens connections and fills caches, so forget it.
            [get, create] = [const { Side::new() }; 2];
        }
    }
    let mut rows = Vec::from(latency_rows("GET /prompts/{id}, 16 clients", &get));
    rows.extend(latency_rows("POST /prompts, 16 clients", &create));
    rows.push(check_cost(&runner).await?);
    Ok(rows)
}

/// Measures the cost of the check in a child process for a write: a template that needs the check next to one
/// of the same size that does not, in turns.
async fn check_cost(runner: &Runner) -> Result<Row> {
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

fn latency_rows(what: &str, side: &Side) -> [Row; 2] {
    let time = Row::new(PART, format!("{what}: p50"), Figure::Milliseconds(side.p50_ms()));
    [
        time.unlucky("p99", Figure::Milliseconds(side.p99_ms())),
        Row::new(
            PART,
            format!("{what}: throughput"),
            Figure::PerSecond(side.rate()),
        ),
    ]
}
