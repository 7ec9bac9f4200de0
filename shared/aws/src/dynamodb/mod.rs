//! Stores records in DynamoDB; the only code that writes its expressions.
//!
//! A transaction carries a client token, so that a retry after a lost response does not repeat it.

mod attribute;
mod batch;
mod create;
mod expression;
mod transaction;

use std::sync::Arc;

use async_trait::async_trait;
use attribute::{Attributes, attributes, item, key as key_of, position, start_key};
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, Select};
use expression::{condition_names, condition_values, update, update_names, update_values};
use platform::error::{Error, Result};
use platform::records::schema::EXPIRES_AT;
use platform::records::store::{
    Action, Condition, Item, Key, Order, Page, Position, Query, RecordStore, Sort, Step, Written, key_names,
};

pub use create::create_table;

/// The tables of an account and region.
#[derive(Clone)]
pub struct DynamoDb {
    client: Client,
}

impl DynamoDb {
    /// Does not connect yet.
    pub fn new(sdk: &SdkConfig) -> Self {
        Self {
            client: Client::new(sdk),
        }
    }

    async fn put(&self, table: Arc<str>, item: &Item, condition: Option<&Condition>) -> Result<Written> {
        let response = self
            .client
            .put_item()
            .table_name(&*table)
            .set_item(Some(attributes(item)?))
            .set_condition_expression(condition.map(expression::condition))
            .set_expression_attribute_names(condition.and_then(condition_names))
            .set_expression_attribute_values(condition.and_then(condition_values))
            .send()
            .await;
        single(response)
    }

    fn query(&self, table: &str, query: &Query) -> QueryFluentBuilder {
        let [pk_name, sk_name] = match query.index {
            None => ["pk".into(), "sk".into()],
            Some(index) => key_names(index),
        };
        let request = self
            .client
            .query()
            .table_name(table)
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
}

#[async_trait]
impl RecordStore for DynamoDb {
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        let request = self.client.get_item().table_name(table);
        let request = request.set_key(Some(key_of(key))).consistent_read(true);
        let response = request.send().await.map_err(failed)?;
        response.item.map(item).transpose()
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        self.batch_get(table, keys).await
    }

    async fn write(&self, step: Step) -> Result<Written> {
        let condition = step.condition.as_ref();
        match &step.action {
            Action::Put(item) => self.put(step.table, item, condition).await,
            Action::Update(changes) => {
                let response = self
                    .client
                    .update_item()
                    .table_name(&*step.table)
                    .set_key(Some(key_of(&step.key)))
                    .update_expression(update(changes))
                    .set_condition_expression(condition.map(expression::condition))
                    .set_expression_attribute_names(Some(update_names(changes, condition)))
                    .set_expression_attribute_values(update_values(changes, condition)?)
                    .send()
                    .await;
                single(response)
            }
            // A retry of a plain delete after a lost response would find no item, and report a refusal.
            Action::Delete | Action::Check => self.commit(vec![step]).await,
        }
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        self.commit(steps).await
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        let updated = self
            .client
            .update_item()
            .table_name(table)
            .set_key(Some(key_of(key)))
            .update_expression("ADD #number :amount SET #expires = :expires")
            .expression_attribute_names("#number", number)
            .expression_attribute_names("#expires", EXPIRES_AT)
            .expression_attribute_values(":amount", AttributeValue::N(amount.to_string()))
            .expression_attribute_values(":expires", AttributeValue::N(expires_at.to_string()))
            .return_values(ReturnValue::UpdatedNew)
            .send()
            .await
            .map_err(failed)?;
        let updated = updated.attributes.unwrap_or_default();
        let number = match updated.get(number) {
            Some(AttributeValue::N(number)) => number.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| Error::internal("an update gave no number back"))
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        let start = start.map(|start| start_key(start, query.index));
        let limit = i32::try_from(most).map_err(Error::internal)?;
        let request = self.query(table, query).limit(limit);
        let response = request
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(failed)?;
        page(response.items, response.last_evaluated_key, Some(query))
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        let mut count = 0;
        let mut start = None;
        loop {
            let request = self.query(table, query).select(Select::Count);
            let counted = request
                .set_exclusive_start_key(start)
                .send()
                .await
                .map_err(failed)?;
            count += u64::try_from(counted.count).map_err(Error::internal)?;
            match counted.last_evaluated_key {
                Some(key) => start = Some(key),
                None => return Ok(count),
            }
        }
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        let start = start.map(|start| start_key(start, None));
        let request = self.client.scan().table_name(table).consistent_read(true);
        let response = request
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(failed)?;
        page(response.items, response.last_evaluated_key, None)
    }
}

fn page(items: Option<Vec<Attributes>>, next: Option<Attributes>, query: Option<&Query>) -> Result<Page> {
    let items = items.unwrap_or_default().into_iter().map(item);
    Ok(Page {
        items: items.collect::<Result<_>>()?,
        next: next.map(|key| position(key, query)).transpose()?,
    })
}

fn single<T, E, R>(response: Result<T, SdkError<E, R>>) -> Result<Written>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match response {
        Ok(_) => Ok(Written::Done),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => {
            Ok(Written::Refused { step: 0 })
        }
        Err(error) if error.code() == Some("TransactionConflictException") => Ok(Written::Contended),
        Err(error) => Err(failed(error)),
    }
}

/// A request that DynamoDB will always refuse is a fault of this service; any other error may be temporary.
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
