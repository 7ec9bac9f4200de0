//! Writes the items of workflow runs into the emulator directly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, ReturnConsumedCapacity, WriteRequest};
use events::records::listing_shards::ShardSchedule;
use platform::queue::Priority;
use platform::records::store::Item as RecordItem;
use platform::{Tenant, stored_json};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use workflow::records::RunPlace;

use crate::Result;
use crate::emulator::{BATCH, Emulator, Item, WRITERS, text};

const RUNS: &str = "millrace-runs";
const PROJECT: &str = "acme#demo";

/// Statuses of the filled runs, in turn.
pub const STATUSES: [&str; 4] = ["COMPLETED", "FAILED", "CANCELED", "TERMINATED"];
/// Number of types of the filled runs, of their documents, and of the subscriptions that started them.
pub const TYPES: u64 = 10;
pub const DOCUMENTS: u64 = 10;
pub const RULES: u64 = 10;
/// Seconds between the starts of two filled runs.
pub const SECONDS_APART: i64 = 10;

/// Returns the start time of a filled run.
pub fn began(number: u64) -> Result<String> {
    let start: jiff::Timestamp = "2025-01-01T00:00:00Z".parse()?;
    let number = i64::try_from(number)?;
    let began = start + jiff::SignedDuration::from_secs(number * SECONDS_APART);
    Ok(format!("{began:.3}"))
}

impl Emulator {
    /// Returns the item of a run that has ended.
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

    /// Writes copies of the sample with these numbers, and with statuses, types, documents and times of their
    /// own.
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

    /// Returns the read units of the first page of a listing by an index.
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
        let units = answer.consumed_capacity.and_then(|usage| usage.capacity_units);
        units.ok_or_else(|| "the emulator tells no units".into())
    }
}

/// Returns a copy of the sample with the key that the service gives to such a run.
fn filled_run(sample: &Item, id: &str, number: u64) -> Result<Item> {
    let began = began(number)?;
    let status = STATUSES
        .get(number as usize % STATUSES.len())
        .copied()
        .unwrap_or_default();
    let place = RunPlace {
        run_id: id.to_owned(),
        started_at: began.parse()?,
        status: status.to_owned(),
        workflow_type: format!("Type{}", number % TYPES),
        document_id: Some(format!("document-{}", number % DOCUMENTS)),
        rule_id: Some(format!("rule-{}", number % RULES)),
        priority: Priority::Normal,
        due_at: None,
        removed_at: None,
    };
    let (account, project) = PROJECT.split_once('#').unwrap_or_default();
    let key = place.key(&Tenant::new(account, project)?, &ShardSchedule::default());
    let mut item = sample.clone();
    item.retain(|name, _| !name.starts_with("gsi") && name != "listed_at" && !name.starts_with("due_"));
    for (name, value) in RecordItem::from_record(&key, &json!({}))?.into_attributes() {
        item.insert(name, text(value.as_str().unwrap_or_default()));
    }
    let summary = item.get("summary").and_then(|summary| summary.as_b().ok());
    let summary = stored_json::text_of(summary.ok_or("a run without a summary")?.as_ref());
    let mut summary: Value = serde_json::from_str(&stored_json::read(summary)?)?;
    for (pointer, value) in [
        ("/started_at", began.as_str()),
        ("/run_id", id),
        ("/workflow_id", id),
        ("/workflow_type", &place.workflow_type),
    ] {
        let field = summary.pointer_mut(pointer);
        *field.ok_or_else(|| format!("the summary of a run lacks {pointer}"))? = json!(value);
    }
    let about = summary.get_mut("about").and_then(Value::as_object_mut);
    let about = about.ok_or("the summary of a run lacks /about")?;
    about.insert("document_id".to_owned(), json!(place.document_id));
    about.insert("rule_id".to_owned(), json!(place.rule_id));
    let summary = stored_json::bytes_of(&stored_json::write(&summary.to_string())?);
    let summary = Blob::new(summary.ok_or("a summary is not compressed")?);
    item.insert("summary".into(), AttributeValue::B(summary));
    item.insert("status".into(), text(status));
    item.insert("closed_at".into(), text(&began));
    Ok(item)
}
