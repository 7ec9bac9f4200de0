//! Measures deliveries from the ingest URL to a receiver, at a fixed rate of events, whether the service
//! keeps up or not; and the same next to hostile receivers.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tests::{Receiver, hostile};
use tokio::task::JoinSet;
use tokio::time;

use crate::Result;
use crate::events::PART;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, json as json_of};
use crate::statistics::percentile;

/// Rates in events per second, and their durations in seconds.
const OFFERED: [(u64, u64); 3] = [(100, 20), (1_000, 10), (2_000, 10)];
/// Events per second to the other receivers, and the time for which they run before the measurement.
const OTHERS: u32 = 16;
const OTHERS_FIRST: Duration = Duration::from_secs(10);
/// Longest wait for deliveries after the last event.
const PATIENCE: Duration = Duration::from_secs(180);

/// Measures over data directories in `folder`.
pub async fn measure(folder: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (rate, seconds) in OFFERED {
        let way = Way::open(&folder.join(rate.to_string())).await?;
        let offered = way.offer(0, rate, seconds).await?;
        let what = format!("ingest to receiver at {rate} events/s");
        for (name, part) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            let figure = Figure::Milliseconds(percentile(&offered.took, part));
            rows.push(Row::new(PART, format!("{what}: {name}"), figure));
        }
        for (name, figure) in [
            ("delivered, %", Figure::Count(offered.percent())),
            ("taken in a second", Figure::PerSecond(offered.taken_per_second)),
            (
                "delivered in a second",
                Figure::PerSecond(offered.delivered_per_second),
            ),
        ] {
            rows.push(Row::new(PART, format!("{what}: {name}"), figure));
        }
    }
    rows.push(among_hostile(folder).await?);
    Ok(rows)
}

/// Compares a receiver's delivery times next to hostile receivers and next to friendly ones.
async fn among_hostile(folder: &Path) -> Result<Row> {
    let friend = Receiver::start().await;
    let (mut friends, mut enemies) = (Vec::new(), Vec::new());
    for meanness in hostile::ALL {
        friends.push(format!("{}/{meanness:?}", friend.origin));
        enemies.push(meanness.serve().await);
    }
    let normal = among(&folder.join("friends"), &friends).await?;
    let among = among(&folder.join("enemies"), &enemies).await?;
    let (rate, _) = OFFERED[0];
    let what = format!("ingest to receiver at {rate} events/s, with {OTHERS}/s to hostile receivers: p95");
    let row = Row::new(PART, what, Figure::Milliseconds(among));
    Ok(row.beside(
        "to friendly ones",
        Figure::Milliseconds(normal),
        Comparison::times(among, normal),
    ))
}

/// Returns the 95th percentile of a receiver's delivery times while other receivers get deliveries as well.
async fn among(data: &Path, others: &[String]) -> Result<f64> {
    let way = Way::open(data).await?;
    for (number, url) in others.iter().enumerate() {
        way.subscribe(&format!("other-{number}"), url).await?;
    }
    let (sender, count) = (way.sender.clone(), others.len());
    let posting = tokio::spawn(async move {
        let mut ticks = time::interval(Duration::from_secs(1) / OTHERS);
        for number in (0..count).cycle() {
            ticks.tick().await;
            sender
                .post(&json!({ "action": format!("other-{number}") }))
                .await?;
        }
        Ok::<_, crate::Error>(())
    });
    time::sleep(OTHERS_FIRST).await;
    let (rate, seconds) = OFFERED[0];
    let offered = way.offer(0, rate, seconds).await?;
    if posting.is_finished() {
        posting.await??;
    } else {
        posting.abort();
    }
    match offered.percent() {
        100.0 => Ok(percentile(&offered.took, 0.95)),
        percent => Err(format!("{percent} % came beside others").into()),
    }
}

#[derive(Clone)]
struct Sender {
    http: Client,
    url: String,
    token: String,
}

impl Sender {
    async fn post(&self, event: &Value) -> Result<()> {
        let request = self.http.post(&self.url).bearer_auth(&self.token).json(event);
        request.send().await?.error_for_status()?;
        Ok(())
    }
}

/// Runner with a channel, and a receiver that is subscribed to the channel's orders.
struct Way {
    runner: Runner,
    receiver: Receiver,
    sender: Sender,
}

/// Results of a series of events.
struct Offered {
    count: u64,
    /// Milliseconds from the planned post of each event to its first arrival.
    took: Vec<f64>,
    taken_per_second: f64,
    delivered_per_second: f64,
}

impl Offered {
    fn percent(&self) -> f64 {
        100.0 * self.took.len() as f64 / self.count as f64
    }
}

impl Way {
    async fn open(data: &Path) -> Result<Self> {
        let runner = Runner::start(data)?;
        let body = json!({ "name": "Bench", "source": "bench" });
        let channel = json_of(runner.post("/events/channels", &body)).await?;
        let text = |field: &str| {
            channel
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let origin = runner.base_url().trim_end_matches("/api/v1");
        let way = Self {
            sender: Sender {
                http: Client::builder().no_proxy().build()?,
                url: format!("{origin}/ingest/webhooks/events/acme/demo/{}", text("id")),
                token: text("ingest_token"),
            },
            receiver: Receiver::start().await,
            runner,
        };
        way.subscribe("order_placed", &format!("{}/bench", way.receiver.origin))
            .await?;
        Ok(way)
    }

    async fn subscribe(&self, action: &str, url: &str) -> Result<()> {
        let subscription = json!({
            "name": action, "run_as_role": "reader", "filter": { "event_category": ["external"], "action": [action] },
            "target": { "type": "webhook", "url": url, "signing_mode": "signed" },
        });
        answer(self.runner.post("/events/subscriptions", &subscription)).await?;
        Ok(())
    }

    /// Posts events, numbered from `first`, at a rate, and waits until all accepted events arrived. One event
    /// before them opens all connections.
    async fn offer(&self, first: u64, rate: u64, seconds: u64) -> Result<Offered> {
        let count = rate * seconds;
        let before = self.receiver.count() as u64;
        self.sender.post(&order(first)).await?;
        self.arrived(before + 1).await?;
        let began = Instant::now();
        let due = |number: u64| began + Duration::from_secs_f64(number as f64 / rate as f64);
        let mut posts = JoinSet::new();
        for number in 0..count {
            time::sleep_until(due(number).into()).await;
            let sender = self.sender.clone();
            posts.spawn(async move { sender.post(&order(first + 1 + number)).await });
        }
        let mut successes = 0;
        while let Some(ended) = posts.join_next().await {
            successes += u64::from(ended?.is_ok());
        }
        let taken_by = began.elapsed().as_secs_f64();
        let came = self.arrived(before + 1 + successes).await?;
        let all_by = began.elapsed().as_secs_f64();
        let took: Vec<_> = (0..count)
            .filter_map(|number| Some((number, came.get(&(first + 1 + number))?)))
            .map(|(number, at)| at.saturating_duration_since(due(number)).as_secs_f64() * 1e3)
            .collect();
        Ok(Offered {
            count,
            taken_per_second: successes as f64 / taken_by,
            delivered_per_second: took.len() as f64 / all_by,
            took,
        })
    }

    /// Returns the first arrival of each event, by its number, once `count` requests arrived or the wait is
    /// over.
    async fn arrived(&self, count: u64) -> Result<BTreeMap<u64, Instant>> {
        let deadline = Instant::now() + PATIENCE;
        while (self.receiver.count() as u64) < count && Instant::now() < deadline {
            time::sleep(Duration::from_millis(5)).await;
        }
        let mut came = BTreeMap::new();
        for one in self.receiver.received() {
            let body: Value = serde_json::from_str(&one.body)?;
            if let Some(number) = body.pointer("/event/details/payload/n").and_then(Value::as_u64) {
                came.entry(number).or_insert(one.at);
            }
        }
        Ok(came)
    }
}

/// Returns an event of about a kilobyte, as a shop would send it.
fn order(number: u64) -> Value {
    let lines: Vec<_> = (0..8)
        .map(|line| json!({ "sku": format!("sku-{line}"), "price": line * 3, "text": "x".repeat(60) }))
        .collect();
    json!({ "action": "order_placed", "resource_type": "order", "resource_id": number.to_string(), "n": number, "lines": lines })
}
