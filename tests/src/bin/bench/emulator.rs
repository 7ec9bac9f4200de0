//! The runner's DynamoDB emulator, asked directly through the AWS SDK, with the items and calls of the service.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{AttributeValue, Put, PutRequest, TransactWriteItem, WriteRequest};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::Result;

pub(crate) const RECORDS: &str = "millrace-records";
const AUDIT: &str = "millrace-audit";
const ACCOUNT: &str = "acme";
/// What DynamoDB takes in one `BatchWriteItem`.
pub(crate) const BATCH: usize = 25;
/// Batches on their way at a time.
pub(crate) const WRITERS: u64 = 4;

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The emulator of a running runner. Clones share their connections.
#[derive(Clone)]
pub struct Emulator {
    pub(crate) client: Client,
    /// Gives the next id.
    count: Arc<AtomicU64>,
}

/// The items that the service writes for a new prompt template, taken from one that it made.
#[derive(Clone)]
pub struct Sample {
    head: Item,
    audit: Item,
}

impl Emulator {
    /// That of the runner over `data_dir`.
    pub fn of(data_dir: &Path) -> Result<Self> {
        let endpoints: Value = serde_json::from_slice(&std::fs::read(data_dir.join("endpoints.json"))?)?;
        let records = endpoints.get("records").and_then(Value::as_str);
        let secret = std::fs::read_to_string(data_dir.join("keys/services"))?;
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(records.ok_or("endpoints.json names no records")?)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", Some(secret), None, "bench"))
            .build();
        Ok(Self {
            client: Client::from_conf(config),
            count: Arc::default(),
        })
    }

    /// The items of a prompt template of project `demo`; the audit record is the project's latest one.
    pub async fn sample(&self, prompt: &str) -> Result<Sample> {
        let head = self.get(prompt).await?;
        let latest = self
            .client
            .query()
            .table_name(AUDIT)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", text(format!("{ACCOUNT}#demo#audit")))
            .scan_index_forward(false)
            .limit(1)
            .send()
            .await?;
        let audit = latest.items.unwrap_or_default().pop();
        Ok(Sample {
            head,
            audit: audit.ok_or("no audit record was found")?,
        })
    }

    /// The call of `GET /prompts/{id}`.
    pub async fn get(&self, prompt: &str) -> Result<Item> {
        let answer = self
            .client
            .get_item()
            .table_name(RECORDS)
            .key("pk", text(format!("{ACCOUNT}#demo#prompts")))
            .key("sk", text(prompt))
            .consistent_read(true)
            .send()
            .await?;
        answer
            .item
            .ok_or_else(|| format!("no prompt template {prompt}").into())
    }

    /// The calls of `POST /prompts`: the head and the first version, each on the condition that it is new, then the audit
    /// record.
    pub async fn create(&self, sample: &Sample) -> Result<()> {
        let id = self.next_id();
        let steps = [
            (format!("{ACCOUNT}#demo#prompts"), id.clone()),
            (
                format!("{ACCOUNT}#demo#prompt#{id}"),
                "version#0000000001".to_owned(),
            ),
        ];
        let mut transaction = self.client.transact_write_items();
        for (pk, sk) in steps {
            let put = Put::builder()
                .table_name(RECORDS)
                .set_item(Some(moved(&sample.head, &id, pk, sk)))
                .condition_expression("attribute_not_exists(pk)")
                .build()?;
            transaction = transaction.transact_items(TransactWriteItem::builder().put(put).build());
        }
        transaction.send().await?;

        let time = format!("2026-01-01T00:00:00.000Z#{id}");
        let mut audit = moved(&sample.audit, &id, format!("{ACCOUNT}#demo#audit"), time.clone());
        audit.insert("gsi1sk".to_owned(), text(time));
        self.client
            .put_item()
            .table_name(AUDIT)
            .set_item(Some(audit))
            .condition_expression("attribute_not_exists(pk)")
            .send()
            .await?;
        Ok(())
    }

    /// Writes heads like that of `sample`: for each project, how many.
    pub async fn fill(
        &self,
        sample: &Sample,
        projects: impl IntoIterator<Item = (String, usize)>,
    ) -> Result<()> {
        let mut items = Vec::new();
        for (project, prompts) in projects {
            items.extend((0..prompts).map(|_| {
                let id = self.next_id();
                (format!("{ACCOUNT}#{project}#prompts"), id)
            }));
        }
        let batches: Arc<Vec<_>> = Arc::new(items.chunks(BATCH).map(<[_]>::to_vec).collect());
        let next = Arc::new(AtomicU64::new(0));
        let mut writers = JoinSet::new();
        for _ in 0..WRITERS {
            let (this, sample, batches, next) = (self.clone(), sample.clone(), batches.clone(), next.clone());
            writers.spawn(async move {
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    this.write(&sample, batch).await?;
                }
                Result::Ok(())
            });
        }
        writers.join_all().await.into_iter().collect()
    }

    async fn write(&self, sample: &Sample, batch: &[(String, String)]) -> Result<()> {
        let mut requests = Vec::with_capacity(batch.len());
        for (pk, id) in batch {
            let item = moved(&sample.head, id, pk.clone(), id.clone());
            let put = PutRequest::builder().set_item(Some(item)).build()?;
            requests.push(WriteRequest::builder().put_request(put).build());
        }
        let request = self.client.batch_write_item().request_items(RECORDS, requests);
        let unwritten = request.send().await?.unprocessed_items.unwrap_or_default();
        match unwritten.is_empty() {
            true => Ok(()),
            false => Err("the emulator left items of a batch unwritten".into()),
        }
    }

    /// An id of the form that the service makes: in order, with a random end.
    pub(crate) fn next_id(&self) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let random: u64 = rand::random();
        format!(
            "01900000-{:04x}-7{:03x}-8{:03x}-{:012x}",
            count >> 12,
            count & 0xfff,
            random >> 52,
            random & 0xffff_ffff_ffff
        )
    }
}

/// The same item under another id and key.
fn moved(item: &Item, id: &str, pk: String, sk: String) -> Item {
    let mut item = item.clone();
    item.insert("id".to_owned(), text(id));
    item.insert("pk".to_owned(), text(pk));
    item.insert("sk".to_owned(), text(sk));
    item
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}
