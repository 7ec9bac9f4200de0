//! The only code that writes DynamoDB expressions.
//!
//! An item is a record's own fields plus its key. Reads are strongly consistent, but for those of an index. What a
//! condition refuses is a value, [`Written`], not an error: the caller knows what it means. A transaction carries a
//! client token, so that a repeat after a lost answer is not done twice.

use std::collections::HashMap;
use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, Delete, Put, TransactWriteItem};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

type Item = HashMap<String, AttributeValue>;

/// The key of an item, and of its place in `gsi1` where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
    /// Partition and sort key in `gsi1`.
    pub gsi1: Option<(String, String)>,
}

impl Key {
    /// A key outside of `gsi1`.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sk: sk.into(),
            gsi1: None,
        }
    }

    /// The same key with a place in `gsi1`.
    #[must_use]
    pub fn with_gsi1(mut self, pk: impl Into<String>, sk: impl Into<String>) -> Self {
        self.gsi1 = Some((pk.into(), sk.into()));
        self
    }

    fn attributes(&self) -> Item {
        HashMap::from([
            ("pk".to_owned(), AttributeValue::S(self.pk.clone())),
            ("sk".to_owned(), AttributeValue::S(self.sk.clone())),
        ])
    }
}

/// What must hold for a write to happen.
#[derive(Clone, Debug)]
pub enum Condition {
    /// The item is not there.
    Absent,
    /// The item is there.
    Present,
    /// The item is there and this attribute has this value.
    NumberIs(&'static str, u64),
    /// The item is there and this attribute has this value.
    TextIs(&'static str, String),
}

impl Condition {
    fn expression(&self) -> String {
        match self {
            Self::Absent => "attribute_not_exists(pk)".to_owned(),
            Self::Present => "attribute_exists(pk)".to_owned(),
            Self::NumberIs(..) | Self::TextIs(..) => "#expected = :expected".to_owned(),
        }
    }

    fn names(&self) -> Option<HashMap<String, String>> {
        match self {
            Self::NumberIs(name, _) | Self::TextIs(name, _) => {
                Some(HashMap::from([("#expected".to_owned(), (*name).to_owned())]))
            }
            Self::Absent | Self::Present => None,
        }
    }

    fn values(&self) -> Option<Item> {
        let value = match self {
            Self::NumberIs(_, number) => AttributeValue::N(number.to_string()),
            Self::TextIs(_, text) => AttributeValue::S(text.clone()),
            Self::Absent | Self::Present => return None,
        };
        Some(HashMap::from([(":expected".to_owned(), value)]))
    }
}

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

/// In which direction of the sort key a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest sort key first.
    Ascending,
    /// Largest sort key first.
    Descending,
}

/// A range of one partition.
#[derive(Clone, Debug)]
pub struct Query {
    pk: String,
    sort: Sort,
    index: Option<&'static str>,
    order: Order,
}

#[derive(Clone, Debug)]
enum Sort {
    All,
    Prefix(String),
    Between(String, String),
}

impl Query {
    /// A whole partition.
    pub fn partition(pk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sort: Sort::All,
            index: None,
            order: Order::Ascending,
        }
    }

    /// Only sort keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.sort = Sort::Prefix(prefix.into());
        self
    }

    /// Only sort keys from `low` to `high`, both included.
    #[must_use]
    pub fn between(mut self, low: impl Into<String>, high: impl Into<String>) -> Self {
        self.sort = Sort::Between(low.into(), high.into());
        self
    }

    /// Asks `gsi1`, which follows the table with a short delay.
    #[must_use]
    pub fn gsi1(mut self) -> Self {
        self.index = Some(super::schema::GSI1);
        self
    }

    /// The direction.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }
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

    /// Writes a record, under a condition.
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

    /// Removes a record, under a condition.
    pub async fn delete(&self, key: &Key, condition: Condition) -> Result<Written> {
        let written = self
            .client
            .delete_item()
            .table_name(&*self.name)
            .set_key(Some(key.attributes()))
            .condition_expression(condition.expression())
            .set_expression_attribute_names(condition.names())
            .set_expression_attribute_values(condition.values())
            .send()
            .await;
        single(written)
    }

    /// Reads one page of at most `page_size` records. The second part is where the next page begins.
    pub async fn page<T: DeserializeOwned>(
        &self,
        query: &Query,
        page_size: i32,
        start: Option<HashMap<String, AttributeValue>>,
    ) -> Result<(Vec<T>, Option<HashMap<String, AttributeValue>>)> {
        let (pk_name, sk_name) = if query.index.is_some() {
            ("gsi1pk", "gsi1sk")
        } else {
            ("pk", "sk")
        };
        let mut request = self
            .client
            .query()
            .table_name(&*self.name)
            .set_index_name(query.index.map(str::to_owned))
            .consistent_read(query.index.is_none())
            .scan_index_forward(query.order == Order::Ascending)
            .limit(page_size)
            .set_exclusive_start_key(start)
            .expression_attribute_names("#pk", pk_name)
            .expression_attribute_values(":pk", AttributeValue::S(query.pk.clone()));
        request = match &query.sort {
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
        };
        let answer = request.send().await.map_err(failed)?;
        let records = answer
            .items
            .unwrap_or_default()
            .into_iter()
            .map(read)
            .collect::<Result<_>>()?;
        Ok((records, answer.last_evaluated_key))
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

/// Several conditional writes that happen together or not at all.
pub struct Transaction<'a> {
    table: &'a Table,
    steps: Vec<TransactWriteItem>,
}

impl Transaction<'_> {
    /// Writes a record.
    pub fn put<T: Serialize>(mut self, key: &Key, record: &T, condition: Condition) -> Result<Self> {
        let put = Put::builder()
            .table_name(&*self.table.name)
            .set_item(Some(write(key, record)?))
            .condition_expression(condition.expression())
            .set_expression_attribute_names(condition.names())
            .set_expression_attribute_values(condition.values())
            .build()
            .map_err(Error::internal)?;
        self.steps.push(TransactWriteItem::builder().put(put).build());
        Ok(self)
    }

    /// Writes a record whatever is there.
    pub fn replace<T: Serialize>(mut self, key: &Key, record: &T) -> Result<Self> {
        let put = Put::builder()
            .table_name(&*self.table.name)
            .set_item(Some(write(key, record)?))
            .build();
        self.steps.push(
            TransactWriteItem::builder()
                .put(put.map_err(Error::internal)?)
                .build(),
        );
        Ok(self)
    }

    /// Removes a record.
    pub fn delete(mut self, key: &Key, condition: Condition) -> Result<Self> {
        let delete = Delete::builder()
            .table_name(&*self.table.name)
            .set_key(Some(key.attributes()))
            .condition_expression(condition.expression())
            .set_expression_attribute_names(condition.names())
            .set_expression_attribute_values(condition.values())
            .build()
            .map_err(Error::internal)?;
        self.steps
            .push(TransactWriteItem::builder().delete(delete).build());
        Ok(self)
    }

    /// Writes nothing, but refuses the transaction unless the condition holds.
    pub fn check(mut self, key: &Key, condition: Condition) -> Result<Self> {
        let check = ConditionCheck::builder()
            .table_name(&*self.table.name)
            .set_key(Some(key.attributes()))
            .condition_expression(condition.expression())
            .set_expression_attribute_names(condition.names())
            .set_expression_attribute_values(condition.values())
            .build()
            .map_err(Error::internal)?;
        self.steps
            .push(TransactWriteItem::builder().condition_check(check).build());
        Ok(self)
    }

    /// Carries it out.
    pub async fn commit(self) -> Result<Written> {
        let sent = self
            .table
            .client
            .transact_write_items()
            .set_transact_items(Some(self.steps))
            .send()
            .await;
        let Err(error) = sent else {
            return Ok(Written::Done);
        };
        if let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
            error.as_service_error()
        {
            let reason = |step: usize| {
                let code = cancelled
                    .cancellation_reasons()
                    .get(step)
                    .and_then(|reason| reason.code());
                code.unwrap_or("None").to_owned()
            };
            let steps = cancelled.cancellation_reasons().len();
            if let Some(step) = (0..steps).find(|step| reason(*step) == "ConditionalCheckFailed") {
                return Ok(Written::Refused { step });
            }
            if (0..steps).any(|step| reason(step) == "TransactionConflict") {
                return Ok(Written::Contended);
            }
        }
        Err(failed(error))
    }
}

fn write<T: Serialize>(key: &Key, record: &T) -> Result<Item> {
    let mut item: Item = serde_dynamo::to_item(record).map_err(Error::internal)?;
    item.extend(key.attributes());
    if let Some((pk, sk)) = &key.gsi1 {
        item.insert("gsi1pk".to_owned(), AttributeValue::S(pk.clone()));
        item.insert("gsi1sk".to_owned(), AttributeValue::S(sk.clone()));
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
