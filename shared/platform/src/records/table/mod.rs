//! The only code that writes DynamoDB expressions.
//!
//! An item is a record's own fields plus its key. Reads are strongly consistent, but for those of an index. What a
//! condition refuses is a value, [`Written`], not an error: the caller knows what it means. A transaction carries a
//! client token, so that a repeat after a lost answer is not done twice.

mod batch;
mod changes;
mod condition;
mod key;
mod query;
mod rows;
mod transaction;

use std::collections::HashMap;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, Select};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::records::schema::{DUE, EXPIRES_AT};

pub use changes::Changes;
pub use condition::Condition;
pub use key::Key;
use query::Sort;
pub use query::{Order, Query};
pub use rows::Rows;
pub use transaction::{Guard, Transaction};

type Item = HashMap<String, AttributeValue>;

/// Whether a conditional write happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// It is durable.
    Done,
    /// Nothing was written: the condition of the step with this index (0 for a single write) did not hold.
    Refused {
        /// Which step of the transaction.
        step: usize,
    },
    /// Nothing was written: another write was under way on one of the items. Repeat.
    Contended,
}

/// One DynamoDB table.
#[derive(Clone)]
pub struct Table {
    client: Client,
    name: Arc<str>,
}

impl Table {
    /// The table of this name.
    pub fn connect(sdk: &SdkConfig, name: &str) -> Self {
        Self {
            client: Client::new(sdk),
            name: name.into(),
        }
    }

    /// The record at `key`, None where there is none.
    pub async fn find<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>> {
        let answer = self
            .client
            .get_item()
            .table_name(&*self.name)
            .set_key(Some(key.attributes()))
            .consistent_read(true)
            .send()
            .await
            .map_err(failed)?;
        answer.item.map(read).transpose()
    }

    /// Writes a record, under a condition. After a lost answer the repeat may be refused by the write's own first attempt: where
    /// that matters, use a transaction.
    pub async fn put<T: Serialize>(&self, key: &Key, record: &T, condition: Condition) -> Result<Written> {
        let written = self
            .client
            .put_item()
            .table_name(&*self.name)
            .set_item(Some(write(key, record)?))
            .condition_expression(condition.expression())
            .set_expression_attribute_names(condition.names())
            .set_expression_attribute_values(condition.values())
            .send()
            .await;
        single(written)
    }

    /// Changes single attributes of a record, under a condition. Changes that are done twice must come to the same, and so none
    /// of them may append.
    pub async fn update(&self, key: &Key, changes: &Changes, condition: Condition) -> Result<Written> {
        let written = self
            .client
            .update_item()
            .table_name(&*self.name)
            .set_key(Some(key.attributes()))
            .update_expression(changes.expression())
            .condition_expression(condition.expression())
            .set_expression_attribute_names(Some(changes.names(Some(&condition))))
            .set_expression_attribute_values(changes.values(Some(&condition)))
            .send()
            .await;
        single(written)
    }

    /// Adds to a number of a record, which is made where it is missing and expires at `expires_at`, in Unix
    /// seconds; the new number. A repeat after a lost answer may add twice.
    pub async fn add(&self, key: &Key, name: &str, amount: u64, expires_at: i64) -> Result<u64> {
        let updated = self
            .client
            .update_item()
            .table_name(&*self.name)
            .set_key(Some(key.attributes()))
            .update_expression("ADD #number :amount SET #expires = :expires")
            .expression_attribute_names("#number", name)
            .expression_attribute_names("#expires", EXPIRES_AT)
            .expression_attribute_values(":amount", AttributeValue::N(amount.to_string()))
            .expression_attribute_values(":expires", AttributeValue::N(expires_at.to_string()))
            .return_values(ReturnValue::UpdatedNew)
            .send()
            .await
            .map_err(failed)?;
        let number = updated
            .attributes
            .and_then(|attributes| match attributes.get(name) {
                Some(AttributeValue::N(number)) => number.parse().ok(),
                _ => None,
            });
        number.ok_or_else(|| Error::internal("an update gave no number back"))
    }

    /// Removes a record, under a condition. A transaction of one, because a repeat after a lost answer would find the record
    /// gone and call that a refusal.
    pub async fn delete(&self, key: &Key, condition: Condition) -> Result<Written> {
        self.transaction().delete(key, condition)?.commit().await
    }

    /// Reads one page of at most `page_size` records. The second part is where the next page begins.
    pub async fn page<T: DeserializeOwned>(
        &self,
        query: &Query,
        page_size: i32,
        start: Option<HashMap<String, AttributeValue>>,
    ) -> Result<(Vec<T>, Option<HashMap<String, AttributeValue>>)> {
        let request = self.query(query).limit(page_size).set_exclusive_start_key(start);
        let answer = request.send().await.map_err(failed)?;
        let records = answer
            .items
            .unwrap_or_default()
            .into_iter()
            .map(read)
            .collect::<Result<_>>()?;
        Ok((records, answer.last_evaluated_key))
    }

    /// Counts the records of a range, page by page, without reading what they hold.
    pub async fn count(&self, query: &Query) -> Result<u64> {
        let mut count = 0;
        let mut start = None;
        loop {
            let request = self.query(query).select(Select::Count);
            let answer = request
                .set_exclusive_start_key(start)
                .send()
                .await
                .map_err(failed)?;
            count += u64::try_from(answer.count).map_err(Error::internal)?;
            match answer.last_evaluated_key {
                Some(key) => start = Some(key),
                None => return Ok(count),
            }
        }
    }

    fn query(&self, query: &Query) -> QueryFluentBuilder {
        let (pk_name, sk_name) = match query.index {
            None => ("pk".to_owned(), "sk".to_owned()),
            Some(DUE) => ("due_shard".to_owned(), "due_at".to_owned()),
            Some(index) => (format!("{index}pk"), format!("{index}sk")),
        };
        let request = self
            .client
            .query()
            .table_name(&*self.name)
            .set_index_name(query.index.map(str::to_owned))
            .consistent_read(query.index.is_none())
            .scan_index_forward(query.order == Order::Ascending)
            .expression_attribute_names("#pk", pk_name)
            .expression_attribute_values(":pk", AttributeValue::S(query.pk.clone()));
        match &query.sort {
            Sort::All => request.key_condition_expression("#pk = :pk"),
            Sort::Prefix(prefix) => request
                .key_condition_expression("#pk = :pk AND begins_with(#sk, :low)")
                .expression_attribute_names("#sk", sk_name)
                .expression_attribute_values(":low", AttributeValue::S(prefix.clone())),
            Sort::Between(low, high) => request
                .key_condition_expression("#pk = :pk AND #sk BETWEEN :low AND :high")
                .expression_attribute_names("#sk", sk_name)
                .expression_attribute_values(":low", AttributeValue::S(low.clone()))
                .expression_attribute_values(":high", AttributeValue::S(high.clone())),
        }
    }

    /// Reads every record of a range, page by page.
    pub async fn all<T: DeserializeOwned>(&self, query: &Query) -> Result<Vec<T>> {
        let mut records = Vec::new();
        let mut start = None;
        loop {
            let (page, next) = self.page(query, 1_000, start).await?;
            records.extend(page);
            match next {
                Some(_) => start = next,
                None => return Ok(records),
            }
        }
    }

    /// Every record of the table as JSON, page by page, with its key. For the operator's check alone.
    pub async fn scan(
        &self,
        start: Option<HashMap<String, AttributeValue>>,
    ) -> Result<(
        Vec<(Key, serde_json::Value)>,
        Option<HashMap<String, AttributeValue>>,
    )> {
        let answer = self
            .client
            .scan()
            .table_name(&*self.name)
            .consistent_read(true)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(failed)?;
        let text = |item: &Item, name: &str| {
            item.get(name)
                .and_then(|value| value.as_s().ok())
                .cloned()
                .unwrap_or_default()
        };
        let records = answer.items.unwrap_or_default().into_iter().map(|item| {
            let key = Key::new(text(&item, "pk"), text(&item, "sk"));
            Ok((key, read(item)?))
        });
        Ok((records.collect::<Result<_>>()?, answer.last_evaluated_key))
    }

    /// A transaction on this table.
    pub fn transaction(&self) -> Transaction<'_> {
        Transaction {
            table: self,
            steps: Vec::new(),
        }
    }
}

fn write<T: Serialize>(key: &Key, record: &T) -> Result<Item> {
    let mut item: Item = serde_dynamo::to_item(record).map_err(Error::internal)?;
    item.extend(key.attributes());
    for (index, pk, sk) in &key.indexes {
        item.insert(format!("{index}pk"), AttributeValue::S(pk.clone()));
        item.insert(format!("{index}sk"), AttributeValue::S(sk.clone()));
    }
    if let Some((shard, at)) = &key.due {
        item.insert("due_shard".to_owned(), AttributeValue::S((*shard).to_owned()));
        item.insert("due_at".to_owned(), AttributeValue::S(at.to_string()));
    }
    Ok(item)
}

fn read<T: DeserializeOwned>(item: Item) -> Result<T> {
    serde_dynamo::from_item(item).map_err(Error::internal)
}

fn single<T, E, R>(written: Result<T, SdkError<E, R>>) -> Result<Written>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match written {
        Ok(_) => Ok(Written::Done),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => {
            Ok(Written::Refused { step: 0 })
        }
        Err(error) if error.code() == Some("TransactionConflictException") => Ok(Written::Contended),
        Err(error) => Err(failed(error)),
    }
}

/// What DynamoDB refuses for good is a fault of ours; everything else may pass.
fn failed<E, R>(error: SdkError<E, R>) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let final_code = matches!(
        error.code(),
        Some(
            "ValidationException"
                | "ResourceNotFoundException"
                | "AccessDeniedException"
                | "SerializationException"
        )
    );
    let error = aws_sdk_dynamodb::error::DisplayErrorContext(error).to_string();
    if final_code {
        Error::internal(error)
    } else {
        Error::unavailable(error)
    }
}
