//! Measures processes: a hundred concurrent runs, each of ten tasks and a call, next to the same call by a
//! webhook delivery, whose workflow is written in Rust. Both start with an event and end with a request to
//! one receiver.

use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tempfile::tempdir;
use tests::Receiver;
use tokio::task::JoinSet;
use tokio::time;

use crate::Result;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, json as json_of};
use crate::statistics::median;

const PART: &str = "processes";
/// Runs per round, and rounds of each kind, in turns; the first round of each warms up.
const RUNS: usize = 100;
const ROUNDS: usize = 6;
/// Pairs of `set` and `switch` before the call.
const PAIRS: usize = 5;
/// Time limit of a round.
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let runner = Runner::start(&folder.path().join("data"))?;
    let receiver = Receiver::start().await;
    let url = format!("{}/bench", receiver.origin);
    let channel =
        json_of(runner.post("/events/channels", &json!({ "name": "Bench", "source": "bench" }))).await?;
    let targets = [
        (
            "process",
            json!({ "type": "process", "definition": definition(&url) }),
        ),
        ("webhook", json!({ "type": "webhook", "url": url })),
    ];
    for (action, target) in &targets {
        let subscription = json!({
            "name": action, "run_as_role": "reader", "target": target,
            "filter": { "event_category": ["external"], "action": [action] },
        });
        answer(runner.post("/events/subscriptions", &subscription)).await?;
    }
    let text = |field: &str| {
        channel
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let origin = runner.base_url().trim_end_matches("/api/v1");
    let sender = Sender {
        http: Client::builder().no_proxy().build()?,
        url: format!("{origin}/ingest/webhooks/events/acme/demo/{}", text("id")),
        token: text("ingest_token"),
    };
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for (rates, (action, _)) in rates.iter_mut().zip(&targets) {
            let rate = at_once(&sender, &receiver, action).await?;
            if round > 0 {
                rates.push(rate);
            }
        }
    }
    let [process, webhook] = rates.map(|rates| median(&rates));
    let what = format!(
        "{RUNS} processes of {} tasks and a call at once: runs/s",
        PAIRS * 2
    );
    let row = Row::new(PART, what, Figure::PerSecond(process));
    Ok(vec![row.beside(
        "webhook deliveries",
        Figure::PerSecond(webhook),
        Comparison::Rates(process / webhook),
    )])
}

fn definition(url: &str) -> Value {
    let mut tasks: Vec<Value> = Vec::new();
    for pair in 0..PAIRS {
        tasks.push(json!({ format!("set{pair}"): { "set": { "n": "${ (.n // 0) + 1 }" } } }));
        tasks.push(json!({ format!("switch{pair}"): { "switch": [{ "many": { "when": ".n > 100", "then": "exit" } }] } }));
    }
    let call = json!({ "method": "post", "endpoint": url, "body": { "n": "${ .n }" } });
    tasks.push(json!({ "call": { "call": "http", "with": call } }));
    json!({
        "document": { "dsl": "1.0.0", "namespace": "bench", "name": "bench", "version": "1.0.0" },
        "do": tasks,
    })
}

#[derive(Clone)]
struct Sender {
    http: Client,
    url: String,
    token: String,
}

/// Returns the runs per second, from the first event to the last request to the receiver.
async fn at_once(sender: &Sender, receiver: &Receiver, action: &'static str) -> Result<f64> {
    let before = receiver.count();
    let began = Instant::now();
    let mut posts = JoinSet::new();
    for number in 0..RUNS {
        let sender = sender.clone();
        posts.spawn(async move {
            let event = json!({ "action": action, "n": number });
            let request = sender
                .http
                .post(&sender.url)
                .bearer_auth(&sender.token)
                .json(&event);
            request.send().await?.error_for_status().map(drop)
        });
    }
    while let Some(posted) = posts.join_next().await {
        posted??;
    }
    while receiver.count() < before + RUNS {
        if began.elapsed() > PATIENCE {
            return Err(format!(
                "{} of {RUNS} runs came within {PATIENCE:?}",
                receiver.count() - before
            )
            .into());
        }
        time::sleep(Duration::from_millis(2)).await;
    }
    Ok(RUNS as f64 / began.elapsed().as_secs_f64())
}
