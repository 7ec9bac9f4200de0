//! The items and calls of workflow runs, asked of the emulator directly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use aws_sdk_dynamodb::types::{
    AttributeValue, Put, PutRequest, ReturnConsumedCapacity, TransactWriteItem, WriteRequest,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Result;
use crate::emulator::{BATCH, Emulator, Item, RECORDS, WRITERS, text};

const RUNS: &str = "millrace-runs";
const PROJECT: &str = "acme#demo";

/// The statuses that filled runs have, in turn.
pub const STATUSES: [&str; 4] = ["COMPLETED", "FAILED", "CANCELED", "TERMINATED"];
/// Types of filled runs, and documents that they are about.
pub const TYPES: u64 = 10;
pub const DOCUMENTS: u64 = 10;
/// Between the starts of two filled runs, in seconds.
pub const SECONDS_APART: i64 = 10;

/// When a filled run began.
pub fn began(number: u64) -> Result<String> {
    let start: jiff::Timestamp = "2025-01-01T00:00:00Z".parse()?;
    let number = i64::try_from(number)?;
    let began = start + jiff::SignedDuration::from_secs(number * SECONDS_APART);
    Ok(format!("{began:.3}"))
}

impl Emulator {
    /// The item of a run that has ended.
    pub async fn run_sample(&self, run: &str) -> Result<Item> {
        let answer = self
            .client
            .get_item()
            .table_name(RUNS)
            .key("pk", text(format!("{PROJECT}#run#{run}")))
            .key("sk", text("state"))
            .consistent_read(true)
            .send()
            .await?;
        answer.item.ok_or_else(|| format!("no run {run}").into())
    }

    /// The calls of a run of so many activities and of whoever waits for its end, one after another: the start, a read, a write for
    /// each activity, the last of which ends the run, the note that the end was announced; and four reads of the waiting.
    async fn run_calls(&self, sample: &Item, activities: u32) -> Result<()> {
        let id = self.next_id();
        let now = "2026-01-01T00:00:00.000Z";
        let mut state = moved_run(sample, &id, now);
        let put = |table: &str, item: &Item| {
            let put = Put::builder()
                .table_name(table)
                .set_item(Some(item.clone()))
                .condition_expression("attribute_not_exists(pk) OR attribute_exists(pk)")
                .build()?;
            Result::Ok(TransactWriteItem::builder().put(put).build())
        };
        let key = |pk: String, sk: &str| Item::from([("pk".into(), text(pk)), ("sk".into(), text(sk))]);
        let event = |action: &str| {
            let mut event = key(format!("{PROJECT}#event#{id}-{action}"), "event");
            event.insert("envelope".into(), text("x".repeat(500)));
            event
        };
        let mut current = key(format!("{PROJECT}#workflows"), &id);
        current.insert("run_id".into(), text(&id));
        state.insert("due_shard".into(), text("runs-0"));
        state.insert("due_at".into(), text(now));
        let mut transaction = self.client.transact_write_items();
        for step in [
            put(RUNS, &state)?,
            put(RUNS, &current)?,
            put(RECORDS, &event("s"))?,
        ] {
            transaction = transaction.transact_items(step);
        }
        transaction.send().await?;
        self.run_sample(&id).await?;
        for second in 1..activities {
            state.insert("due_at".into(), text(format!("2026-01-01T00:00:0{second}.000Z")));
            self.put_run(&state).await?;
        }
        let mut transaction = self.client.transact_write_items();
        for step in [put(RUNS, &state)?, put(RECORDS, &event("e"))?] {
            transaction = transaction.transact_items(step);
        }
        transaction.send().await?;
        state.remove("due_shard");
        state.remove("due_at");
        self.put_run(&state).await?;
        for _ in 0..4 {
            self.run_sample(&id).await?;
        }
        Ok(())
    }

    async fn put_run(&self, item: &Item) -> Result<()> {
        let put = self.client.put_item().table_name(RUNS);
        let put = put.set_item(Some(item.clone()));
        put.condition_expression("attribute_exists(pk)").send().await?;
        Ok(())
    }

    /// Such runs by so many clients: how long each took, in milliseconds, and all of them, in seconds.
    pub async fn run_load(
        &self,
        sample: &Item,
        activities: u32,
        clients: u32,
        runs: u64,
    ) -> Result<(Vec<f64>, f64)> {
        let next = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let mut all = JoinSet::new();
        for _ in 0..clients {
            let (this, sample, next) = (self.clone(), sample.clone(), next.clone());
            all.spawn(async move {
                let mut took = Vec::new();
                while next.fetch_add(1, Ordering::Relaxed) < runs {
                    let began = Instant::now();
                    this.run_calls(&sample, activities).await?;
                    took.push(began.elapsed().as_secs_f64() * 1e3);
                }
                Result::Ok(took)
            });
        }
        let mut took = Vec::new();
        while let Some(client) = all.join_next().await {
            took.extend(client??);
        }
        Ok((took, began.elapsed().as_secs_f64()))
    }

    /// Writes runs like the sample, of these numbers, with statuses, types, documents and times of their own.
    pub async fn fill_runs(&self, sample: &Item, numbers: std::ops::Range<u64>) -> Result<()> {
        let (next, end) = (Arc::new(AtomicU64::new(numbers.start)), numbers.end);
        let mut writers = JoinSet::new();
        for _ in 0..WRITERS {
            let (this, sample, next) = (self.clone(), sample.clone(), next.clone());
            writers.spawn(async move {
                loop {
                    let from = next.fetch_add(BATCH as u64, Ordering::Relaxed);
                    if from >= end {
                        return Result::Ok(());
                    }
                    let mut requests = Vec::with_capacity(BATCH);
                    for number in from..(from + BATCH as u64).min(end) {
                        let item = filled_run(&sample, &this.next_id(), number)?;
                        let put = PutRequest::builder().set_item(Some(item)).build()?;
                        requests.push(WriteRequest::builder().put_request(put).build());
                    }
                    let request = this.client.batch_write_item().request_items(RUNS, requests);
                    let unwritten = request.send().await?.unprocessed_items.unwrap_or_default();
                    if !unwritten.is_empty() {
                        return Err("the emulator left items of a batch unwritten".into());
                    }
                }
            });
        }
        writers.join_all().await.into_iter().collect()
    }

    /// The read units of the first page of a listing by an index.
    pub async fn listing_units(&self, index: &str, pk: &str, most: i32) -> Result<f64> {
        let answer = self
            .client
            .query()
            .table_name(RUNS)
            .index_name(index)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", format!("{index}pk"))
            .expression_attribute_values(":pk", text(format!("{PROJECT}#{pk}")))
            .scan_index_forward(false)
            .limit(most)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await?;
        if answer.items().is_empty() {
            return Err(format!("there are no runs by {index} {pk}").into());
        }
        let units = answer.consumed_capacity.and_then(|taken| taken.capacity_units);
        units.ok_or_else(|| "the emulator tells no units".into())
    }
}

/// The same run under another id, begun at another time.
fn moved_run(sample: &Item, id: &str, began: &str) -> Item {
    let mut item = sample.clone();
    item.insert("pk".into(), text(format!("{PROJECT}#run#{id}")));
    for index in 1..=4 {
        let sk = format!("gsi{index}sk");
        if item.contains_key(&sk) {
            item.insert(sk, text(format!("{began}#{id}")));
        }
    }
    item
}

fn filled_run(sample: &Item, id: &str, number: u64) -> Result<Item> {
    let began = began(number)?;
    let status = STATUSES
        .get(number as usize % STATUSES.len())
        .copied()
        .unwrap_or_default();
    let (workflow_type, document) = (
        format!("Type{}", number % TYPES),
        format!("document-{}", number % DOCUMENTS),
    );
    let mut item = moved_run(sample, id, &began);
    let summary = item.get("summary").and_then(|summary| summary.as_s().ok());
    let mut summary: Value = serde_json::from_str(summary.ok_or("a run without a summary")?)?;
    for (field, value) in [
        ("status", status),
        ("started_at", &began),
        ("closed_at", &began),
        ("run_id", id),
        ("workflow_id", id),
        ("workflow_type", &workflow_type),
    ] {
        if let Some(place) = summary.get_mut(field) {
            *place = json!(value);
        }
    }
    if let Some(about) = summary.get_mut("about").and_then(Value::as_object_mut) {
        about.insert("document_id".to_owned(), json!(document));
    }
    let by = |what: &str, value: &str| text(format!("{PROJECT}#runs#{what}#{value}"));
    item.insert("summary".into(), AttributeValue::S(summary.to_string()));
    item.insert("status".into(), text(status));
    item.insert("gsi2pk".into(), by("status", status));
    item.insert("gsi3pk".into(), by("type", &workflow_type));
    item.insert("gsi4pk".into(), by("document", &document));
    item.insert("gsi4sk".into(), text(format!("{began}#{id}")));
    Ok(item)
}
