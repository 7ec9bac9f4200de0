//! Events: matching by itself; taking them in, beside the emulator's own conditional put; and from the ingest URL to a receiver, at a
//! rate that is offered whether the service keeps up or not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;
use tests::Receiver;
use tokio::task::JoinSet;

use crate::emulator::Emulator;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, json as json_of};
use crate::statistics::{median, percentile};
use crate::{Result, programs};

const PART: &str = "events";
/// Clients that only take in, and the events of one turn.
const CLIENTS: u64 = 16;
const TAKEN: u64 = 3_000;
/// Turns of each side.
const TURNS: usize = 3;
/// Events a second that are offered, and for how long.
const OFFERED: [(u64, u64); 2] = [(100, 20), (1_000, 10)];
/// How long deliveries are waited for after the last event.
const PATIENCE: Duration = Duration::from_secs(180);

/// Measures it.
pub async fn measure() -> Result<Vec<Row>> {
    let mut rows = matching()?;
    let folder = tempdir()?;
    rows.extend(taking_in(&folder.path().join("ingest")).await?);
    for (rate, seconds) in OFFERED {
        rows.extend(delivering(&folder.path().join(rate.to_string()), rate, seconds).await?);
    }
    rows.extend(costs()?);
    Ok(rows)
}

fn matching() -> Result<Vec<Row>> {
    let output = programs::command(&programs::binary("examples/matching_load")?).output()?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("matching: {}", String::from_utf8_lossy(&output.stderr)))?;
    let mut rows = Vec::new();
    for of in report.as_array().into_iter().flatten() {
        let number = |field: &str| of.get(field).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let times = |field: &str| -> Vec<f64> {
            let times = of.get(field).and_then(Value::as_array);
            times
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .map(|micros| micros / 1e3)
                .collect()
        };
        let (indexed, in_turn) = (times("microseconds"), times("in_turn_microseconds"));
        let what = format!("an event against {} subscriptions", number("subscriptions"));
        let mean = indexed.iter().sum::<f64>() / indexed.len() as f64;
        let in_turn = in_turn.iter().sum::<f64>() / in_turn.len() as f64;
        rows.push(
            Row::new(PART, format!("{what}: mean"), Figure::Milliseconds(mean))
                .unlucky("p99", Figure::Milliseconds(percentile(&indexed, 0.99)))
                .beside(
                    "every condition in turn",
                    Figure::Milliseconds(in_turn),
                    Comparison::times(mean, in_turn),
                ),
        );
        rows.push(Row::new(
            PART,
            format!("{what}: events a second of one core"),
            Figure::PerSecond(1e3 / mean),
        ));
        rows.push(Row::new(
            PART,
            format!("{what}: looked at"),
            Figure::Count(number("candidates")),
        ));
        rows.push(Row::new(
            PART,
            format!("{what}: compiling all"),
            Figure::Milliseconds(number("compile_ms")),
        ));
    }
    Ok(rows)
}

/// A channel of a runner: where it takes events, and its token.
async fn channel(runner: &Runner) -> Result<(String, String)> {
    let body = json!({ "name": "Bench", "source": "bench" });
    let made = json_of(runner.post("/events/channels", &body)).await?;
    let text = |field: &str| {
        made.get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let origin = runner.base_url().trim_end_matches("/api/v1");
    Ok((
        format!("{origin}/ingest/webhooks/events/acme/demo/{}", text("id")),
        text("ingest_token"),
    ))
}

async fn taking_in(data: &std::path::Path) -> Result<Vec<Row>> {
    let runner = Runner::start(data)?;
    let (url, token) = channel(&runner).await?;
    let emulator = Emulator::of(runner.data_dir())?;
    let (mut ours, mut emulated) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let took = (ingest(&url, &token).await?, emulator.puts(CLIENTS, TAKEN).await?);
        if turn > 0 {
            ours.push(TAKEN as f64 / took.0);
            emulated.push(TAKEN as f64 / took.1);
        }
    }
    let (ours, emulated) = (median(&ours), median(&emulated));
    Ok(vec![
        Row::new(
            PART,
            format!("taking events in, {CLIENTS} clients"),
            Figure::PerSecond(ours),
        )
        .beside(
            "the emulator's conditional put",
            Figure::PerSecond(emulated),
            Comparison::Rates(ours / emulated),
        ),
    ])
}

/// Posts events from so many clients, one after another each; the seconds that it took.
async fn ingest(url: &str, token: &str) -> Result<f64> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (client, url, token) = (client.clone(), url.to_owned(), token.to_owned());
        clients.spawn(async move {
            for event in (number..TAKEN).step_by(CLIENTS as usize) {
                let sent = client
                    .post(&url)
                    .bearer_auth(&token)
                    .json(&payload(event))
                    .send()
                    .await?;
                sent.error_for_status()?;
            }
            Ok::<_, crate::Error>(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// What a shop would send: about a kilobyte.
fn payload(number: u64) -> Value {
    let lines: Vec<_> = (0..8)
        .map(|line| json!({ "sku": format!("sku-{line}"), "price": line * 3, "text": "x".repeat(60) }))
        .collect();
    json!({ "action": "order_placed", "resource_type": "order", "resource_id": number.to_string(), "n": number, "lines": lines })
}

async fn delivering(data: &std::path::Path, rate: u64, seconds: u64) -> Result<Vec<Row>> {
    let runner = Runner::start(data)?;
    let receiver = Receiver::start().await;
    let (url, token) = channel(&runner).await?;
    let subscription = json!({
        "name": "Bench", "run_as_role": "reader", "filter": { "event_category": ["external"], "action": ["order_placed"] },
        "target": { "type": "webhook", "url": format!("{}/bench", receiver.origin), "signing_mode": "signed" },
    });
    answer(runner.post("/events/subscriptions", &subscription)).await?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let count = rate * seconds;
    // The first connects everything.
    client
        .post(&url)
        .bearer_auth(&token)
        .json(&payload(count))
        .send()
        .await?
        .error_for_status()?;
    arrived(&receiver, 1).await?;
    let began = Instant::now();
    let mut posts = JoinSet::new();
    for number in 0..count {
        let due = began + Duration::from_secs_f64(number as f64 / rate as f64);
        tokio::time::sleep_until(due.into()).await;
        let (client, url, token) = (client.clone(), url.clone(), token.clone());
        posts.spawn(async move {
            let sent = client
                .post(&url)
                .bearer_auth(&token)
                .json(&payload(number))
                .send()
                .await?;
            sent.error_for_status()?;
            Ok::<_, crate::Error>(())
        });
    }
    let mut taken = 0;
    while let Some(ended) = posts.join_next().await {
        taken += u64::from(ended?.is_ok());
    }
    let taken_by = began.elapsed().as_secs_f64();
    let arrivals = arrived(&receiver, taken + 1).await?;
    let all_by = began.elapsed().as_secs_f64();
    let mut first: BTreeMap<u64, Instant> = BTreeMap::new();
    for (number, at) in arrivals {
        first.entry(number).or_insert(at);
    }
    let latencies: Vec<f64> = (0..count)
        .filter_map(|number| {
            let due = began + Duration::from_secs_f64(number as f64 / rate as f64);
            Some(first.get(&number)?.saturating_duration_since(due).as_secs_f64() * 1e3)
        })
        .collect();
    let what = format!("ingest to receiver at {rate} events/s");
    let share = |part: usize| 100.0 * part as f64 / count as f64;
    let time = |which: &str, part: f64| {
        Row::new(
            PART,
            format!("{what}: {which}"),
            Figure::Milliseconds(percentile(&latencies, part)),
        )
    };
    Ok(vec![
        time("p50", 0.5),
        time("p95", 0.95),
        time("p99", 0.99),
        Row::new(
            PART,
            format!("{what}: delivered, %"),
            Figure::Count(share(latencies.len())),
        ),
        Row::new(
            PART,
            format!("{what}: taken in a second"),
            Figure::PerSecond(taken as f64 / taken_by),
        ),
        Row::new(
            PART,
            format!("{what}: delivered in a second"),
            Figure::PerSecond(latencies.len() as f64 / all_by),
        ),
    ])
}

/// What the receiver got, once it is so many or nothing more is waited for: each event's number, and when it came.
async fn arrived(receiver: &Receiver, count: u64) -> Result<Vec<(u64, Instant)>> {
    let deadline = Instant::now() + PATIENCE;
    while (receiver.count() as u64) < count && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let number = |body: &str| {
        let body: Value = serde_json::from_str(body).ok()?;
        body.pointer("/event/details/payload/n")?.as_u64()
    };
    let received = receiver.received();
    Ok(received
        .iter()
        .filter_map(|one| Some((number(&one.body)?, one.at)))
        .collect())
}

/// What a delivered webhook asks of the records, the queues and the functions, and what a million of them cost.
fn costs() -> Result<Vec<Row>> {
    let output = programs::command(&programs::binary("examples/run_costs")?).output()?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("no costs: {}", String::from_utf8_lossy(&output.stderr)))?;
    let mut rows = Vec::new();
    for (what, number) in report
        .get("webhook")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let number = number.as_f64().unwrap_or(f64::NAN);
        rows.push(Row::new(
            PART,
            format!("a delivered webhook: {what}"),
            Figure::Count(number),
        ));
    }
    Ok(rows)
}
