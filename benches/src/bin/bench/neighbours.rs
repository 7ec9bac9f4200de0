//! Measures the effect of one account on another: the p95 of a victim's reads, writes and queries, alone and
//! next to an attacker, in turns.
//!
//! The attacker keeps four requests open at any time, eight if they are queries, and starts a second before
//! the victim. It sends from its own thread, so that the victim does not wait for the sender. Its bombs once
//! stopped other accounts for seconds: `tests/security/bombs.rs` has all of them. Ordinary writes come first,
//! for comparison.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder};
use serde_json::{Map, Value, json};
use tempfile::tempdir;
use tokio::sync::oneshot;

use crate::Result;
use crate::memory::Watch;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, id, json as json_of};
use crate::statistics::percentile;

const PART: &str = "neighbours";
/// Rounds of each side, and requests of each kind per round.
const ROUNDS: usize = 6;
const REQUESTS: usize = 25;
/// Events sent before each attack by aggregations, each of so many bytes. The archiver has not written them
/// yet.
const NEW_EVENTS: usize = 400;
const EVENT_BYTES: usize = 90_000;
const AGGREGATE: &str = "/audit-trail/aggregate";
/// Time by which the attacker starts before the victim.
const LEAD: Duration = Duration::from_secs(1);

/// Kinds of the victim's requests.
const KINDS: [&str; 3] = ["reads", "writes", "queries"];

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let runner = Runner::start(&folder.path().join("data"))?;
    let victim = Account::open(&runner, "acme", runner.token()).await?;
    let token = other_token(&runner)?;
    let attacker = Account::open(&runner, "other", &token).await?;
    let mut rows = Vec::new();
    for (name, at_once, path, body) in attacks(&attacker) {
        let watch = Watch::over(runner.process_id());
        let (mut alone, mut beside) = (Times::default(), Times::default());
        for round in 0..=ROUNDS {
            let mut times = Times::default();
            victim.work(&mut times).await?;
            if path == AGGREGATE {
                attacker.send_events().await?;
            }
            let mut attacked = Times::default();
            let attack = attacker.attack(at_once, &path, &body)?;
            tokio::time::sleep(LEAD).await;
            victim.work(&mut attacked).await?;
            attack.stop()?;
            if round > 0 {
                alone.extend(times);
                beside.extend(attacked);
            }
        }
        let memory = watch.peak_megabytes();
        for (kind, (beside, alone)) in KINDS.iter().zip(beside.0.iter().zip(&alone.0)) {
            let (beside, alone) = (percentile(beside, 0.95), percentile(alone, 0.95));
            let row = Row::new(
                PART,
                format!("{name}: p95 of another's {kind}"),
                Figure::Milliseconds(beside),
            );
            rows.push(row.beside(
                "alone",
                Figure::Milliseconds(alone),
                Comparison::times(beside, alone),
            ));
        }
        rows.push(Row::new(
            PART,
            format!("{name}: memory with children, peak"),
            Figure::Megabytes(memory),
        ));
        // Wait until a request of the attacker works again.
        answer(attacker.post("/prompts", &prompt(json!({})))).await?;
    }
    Ok(rows)
}

/// Returns the attacks: name, concurrent requests, path and body.
fn attacks(attacker: &Account) -> Vec<(&'static str, usize, String, Value)> {
    let doubling = |keyword: &str| {
        let part = |level: usize| {
            let next = json!({ "$ref": format!("#/definitions/p{}", level + 1) });
            (format!("p{level}"), json!({ keyword: { "a": next, "b": next } }))
        };
        let mut parts: Map<String, Value> = (0..40).map(part).collect();
        parts.insert("p40".to_owned(), json!({}));
        json!({ "definitions": parts, "allOf": [{ "$ref": "#/definitions/p0" }] })
    };
    let patterns = |count: usize| {
        let many = (0..count).map(|number| {
            (
                format!("a{number}"),
                json!({ "pattern": format!("(\\p{{L}}|\\w){{1,{}}}", number + 1) }),
            )
        });
        json!({ "properties": many.collect::<Map<_, _>>() })
    };
    let template = |content: String| with(prompt(json!({})), "content", content.into());
    let endless = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r";
    let prompts = "/prompts".to_owned();
    vec![
        // Not an attack: shows the cost of any four concurrent requests.
        ("ordinary writes", 4, prompts.clone(), prompt(json!({}))),
        (
            "endless queries",
            8,
            format!("/data/{}/query", attacker.store),
            json!({ "sql": endless }),
        ),
        (
            "dependentSchemas",
            4,
            prompts.clone(),
            prompt(doubling("dependentSchemas")),
        ),
        (
            "dependencies",
            4,
            prompts.clone(),
            prompt(with(
                doubling("dependencies"),
                "$schema",
                "http://json-schema.org/draft-07/schema#".into(),
            )),
        ),
        (
            "a definition of 1,400 patterns",
            4,
            "/events/subscriptions".to_owned(),
            listening(1_400),
        ),
        ("90 Unicode patterns", 4, prompts.clone(), prompt(patterns(90))),
        (
            "1,000 Unicode patterns",
            4,
            prompts.clone(),
            prompt(patterns(1_000)),
        ),
        (
            "64 KB of {{a}} in a block",
            4,
            prompts.clone(),
            template(format!("{{{{#if a}}}}{}{{{{/if}}}}", "{{a}}".repeat(13_000))),
        ),
        ("64 KB of {{", 4, prompts.clone(), template("{{".repeat(32_768))),
        ("250 KB of {{a}}", 4, prompts, template("{{a}}".repeat(50_000))),
        (
            "aggregations over large new events",
            8,
            AGGREGATE.to_owned(),
            json!({ "metrics": [{ "id": "events", "operation": "count" }] }),
        ),
    ]
}

/// Returns a subscription whose process waits for events of as many patterns.
fn listening(patterns: usize) -> Value {
    let filter = |number: usize| json!({ "with": { "type": format!("\\w{{1,15}}{number:04}") } });
    let filters: Vec<Value> = (0..patterns).map(filter).collect();
    json!({
        "name": "Neighbour", "run_as_role": "executor", "filter": { "event_category": ["external"] },
        "target": { "type": "process", "definition": {
            "document": { "dsl": "1.0.3", "namespace": "shop", "name": "waiting", "version": "1.0.0" },
            "do": [{ "wait": { "listen": { "to": { "any": filters } } } }],
        } },
    })
}

fn prompt(schema: Value) -> Value {
    let body = with(crate::prompts::body("Neighbour"), "inputSchema", schema);
    with(body, "test_data", json!({ "a": "x", "b": {} }))
}

/// Returns an object with one field added or replaced.
fn with(mut object: Value, field: &str, value: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.insert(field.to_owned(), value);
    }
    object
}

/// Returns a token of another account.
fn other_token(runner: &Runner) -> Result<String> {
    let output = runner.ops()?.args(["token", "--account", "other"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Times of a victim's requests in milliseconds, by kind.
#[derive(Default)]
struct Times([Vec<f64>; 3]);

impl Times {
    fn extend(&mut self, other: Self) {
        for (times, more) in self.0.iter_mut().zip(other.0) {
            times.extend(more);
        }
    }
}

/// Account with a prompt template, and a store of a hundred rows.
struct Account {
    http: Client,
    base_url: String,
    token: Arc<str>,
    prompt: String,
    store: String,
    ingest_url: String,
    ingest_token: String,
}

impl Account {
    async fn open(runner: &Runner, name: &str, token: &str) -> Result<Self> {
        let mut account = Self {
            http: Client::builder().no_proxy().build()?,
            base_url: runner.base_url().to_owned(),
            token: token.into(),
            prompt: String::new(),
            store: String::new(),
            ingest_url: String::new(),
            ingest_token: String::new(),
        };
        account.prompt = id(&json_of(account.post("/prompts", &prompt(json!({})))).await?)?;
        account.store = id(&json_of(account.post("/data", &json!({ "name": "Store" }))).await?)?;
        let store = format!("/data/{}", account.store);
        let table =
            json!({ "tables": [{ "name": "kept", "columns": [{ "name": "id", "type": "INTEGER" }] }] });
        answer(account.post(&format!("{store}/tables"), &table)).await?;
        let rows: Vec<Value> = (0..100).map(|id| json!({ "id": id })).collect();
        let import = json!({ "tables": { "kept": { "source": "inline", "data": rows } } });
        answer(account.post(&format!("{store}/import"), &import)).await?;
        let channel = account.post("/events/channels", &json!({ "name": "Bench", "source": "bench" }));
        let channel = json_of(channel).await?;
        let text = |field: &str| channel.get(field).and_then(Value::as_str).unwrap_or_default();
        let origin = account.base_url.trim_end_matches("/api/v1");
        account.ingest_url = format!("{origin}/ingest/webhooks/events/{name}/demo/{}", text("id"));
        account.ingest_token = text("ingest_token").to_owned();
        Ok(account)
    }

    async fn send_events(&self) -> Result<()> {
        let event = json!({ "action": "bench", "text": "x".repeat(EVENT_BYTES) });
        for _ in 0..NEW_EVENTS {
            let post = self.http.post(&self.ingest_url).bearer_auth(&self.ingest_token);
            answer(post.json(&event)).await?;
        }
        Ok(())
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.base_url));
        request.bearer_auth(&self.token).json(body)
    }

    /// Sends requests of each kind, one after another.
    async fn work(&self, times: &mut Times) -> Result<()> {
        let [reads, writes, queries] = &mut times.0;
        let query = json!({ "sql": "SELECT count(*) AS n, max(id) AS id FROM kept" });
        for _ in 0..REQUESTS {
            let read_request = self
                .http
                .get(format!("{}/prompts/{}", self.base_url, self.prompt));
            for (times, request) in [
                (&mut *reads, read_request.bearer_auth(&self.token)),
                (&mut *writes, self.post("/prompts", &prompt(json!({})))),
                (
                    &mut *queries,
                    self.post(&format!("/data/{}/query", self.store), &query),
                ),
            ] {
                let began = Instant::now();
                answer(request).await?;
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        Ok(())
    }

    /// Keeps `at_once` requests open, whatever the answers, until it is stopped.
    fn attack(&self, at_once: usize, path: &str, body: &Value) -> Result<Attack> {
        let (stop, stopped) = oneshot::channel();
        let url = format!("{}{path}", self.base_url);
        let token = Arc::clone(&self.token);
        let body = Bytes::from(body.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let send_all = async move {
            let http = Client::builder().no_proxy().build()?;
            let send = || {
                let request = http.post(&url).bearer_auth(&token);
                request
                    .header(CONTENT_TYPE, "application/json")
                    .body(body.clone())
                    .send()
            };
            let mut under_way: FuturesUnordered<_> = (0..at_once).map(|_| send()).collect();
            while under_way.next().await.is_some() {
                under_way.push(send());
            }
            Ok::<(), reqwest::Error>(())
        };
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    result = send_all => result,
                    _ = stopped => Ok(()),
                }
            })
        });
        Ok(Attack { stop, thread })
    }
}

struct Attack {
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<std::result::Result<(), reqwest::Error>>,
}

impl Attack {
    fn stop(self) -> Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_| "the attacker panicked")??;
        Ok(())
    }
}
