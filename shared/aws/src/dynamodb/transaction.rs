//! Commits transactions, and handles those that DynamoDB cancels.

use std::time::Duration;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, Put, TransactWriteItem, Update};
use platform::error::{Error, Result};
use platform::records::store::{Action, Step, Written};
use rand::RngExt as _;

use super::attribute::{attributes, key};
use super::expression::{condition, condition_names, condition_values, update, update_names, update_values};
use super::{DynamoDb, failed};

/// Maximum attempts of a transaction that conflicts with another write.
const MAX_ATTEMPTS: u64 = 8;
/// Maximum attempts of a transaction on a throttled table: at most 1.5 s, so that the request can still be
/// answered.
const MAX_THROTTLED_ATTEMPTS: u64 = 5;
/// Half of the first pause of a throttled transaction, in milliseconds. Each further pause is twice as long.
const THROTTLED_MS: u64 = 25;

impl DynamoDb {
    /// Commits a transaction. Conflicts with other writes and throttling are retried with back-off. A
    /// conflict that outlasts all attempts is [`Written::Contended`]; throttling that does is
    /// [`ErrorKind::Unavailable`].
    ///
    /// The SDK retries neither, because both arrive as a cancelled transaction, which it treats as final.
    ///
    /// [`ErrorKind::Unavailable`]: platform::ErrorKind::Unavailable
    pub(super) async fn commit(&self, steps: Vec<Step>) -> Result<Written> {
        let items: Vec<_> = steps.iter().map(write).collect::<Result<_>>()?;
        let mut attempt = 1;
        loop {
            let request = self.client.transact_write_items();
            let Err(error) = request.set_transact_items(Some(items.clone())).send().await else {
                return Ok(Written::Done);
            };
            let pause_ms = match (cancellation(&error), attempt) {
                (Some(Cancellation::Refused { step }), _) => return Ok(Written::Refused { step }),
                (Some(Cancellation::Conflict), MAX_ATTEMPTS) => return Ok(Written::Contended),
                (Some(Cancellation::Conflict), _) => 20 * attempt,
                (Some(Cancellation::Throttled), 1..MAX_THROTTLED_ATTEMPTS) => THROTTLED_MS << attempt,
                (Some(Cancellation::Invalid), _) => {
                    return Err(Error::internal(format!(
                        "DynamoDB refused a transaction: {error:?}"
                    )));
                }
                _ => return Err(failed(error)),
            };
            let pause_ms = rand::rng().random_range(pause_ms / 2..=pause_ms);
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            attempt += 1;
        }
    }
}

fn write(step: &Step) -> Result<TransactWriteItem> {
    let of_step = step.condition.as_ref();
    let expression = of_step.map(condition);
    let (names, values) = (
        of_step.and_then(condition_names),
        of_step.and_then(condition_values),
    );
    let item = TransactWriteItem::builder();
    let item = match &step.action {
        Action::Put(record) => Put::builder()
            .table_name(&*step.table)
            .set_item(Some(attributes(record)?))
            .set_condition_expression(expression)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .build()
            .map(|put| item.put(put)),
        Action::Update(changes) => Update::builder()
            .table_name(&*step.table)
            .set_key(Some(key(&step.key)))
            .update_expression(update(changes))
            .set_condition_expression(expression)
            .set_expression_attribute_names(Some(update_names(changes, of_step)))
            .set_expression_attribute_values(update_values(changes, of_step)?)
            .build()
            .map(|update| item.update(update)),
        Action::Delete => Delete::builder()
            .table_name(&*step.table)
            .set_key(Some(key(&step.key)))
            .set_condition_expression(expression)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .build()
            .map(|delete| item.delete(delete)),
        Action::Check => ConditionCheck::builder()
            .table_name(&*step.table)
            .set_key(Some(key(&step.key)))
            .set_condition_expression(expression)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .build()
            .map(|check| item.condition_check(check)),
    };
    Ok(item.map_err(Error::internal)?.build())
}

#[derive(Debug, PartialEq, Eq)]
enum Cancellation {
    /// The condition of this step does not hold.
    Refused { step: usize },
    /// Another write of one of the items is in progress.
    Conflict,
    /// A table or an index exceeds its throughput.
    Throttled,
    /// No retry helps, for example because an item is too large.
    Invalid,
}

fn cancellation(error: &SdkError<TransactWriteItemsError>) -> Option<Cancellation> {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        return None;
    };
    let codes: Vec<_> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| reason.code().unwrap_or_default())
        .collect();
    let place = |wanted: &str| codes.iter().position(|code| *code == wanted);
    let has = |wanted: &str| place(wanted).is_some();
    if let Some(step) = place("ConditionalCheckFailed") {
        Some(Cancellation::Refused { step })
    } else if has("ValidationError") {
        Some(Cancellation::Invalid)
    } else if has("ThrottlingError") || has("ProvisionedThroughputExceeded") {
        Some(Cancellation::Throttled)
    } else {
        has("TransactionConflict").then_some(Cancellation::Conflict)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::{Keys, sdk_config_for};
    use platform::config::Secret;
    use platform::error::ErrorKind;
    use platform::records::{Condition, Key, Table};

    /// A table whose first transactions are cancelled for these reasons.
    async fn table(reasons: Vec<Vec<&'static str>>) -> (Table, Arc<AtomicUsize>) {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let answer = move || {
            let call = counted.fetch_add(1, Ordering::SeqCst);
            let cancelled = reasons.get(call).map(|codes| {
                let reasons: Vec<Value> = codes.iter().map(|code| json!({ "Code": code })).collect();
                json!({
                    "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                    "CancellationReasons": reasons,
                })
            });
            async move {
                match cancelled {
                    Some(body) => (StatusCode::BAD_REQUEST, body.to_string()),
                    None => (StatusCode::OK, "{}".to_owned()),
                }
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, Router::new().route("/", post(answer))).into_future());
        let sdk = sdk_config_for(&endpoint, Keys::signing(&Secret::new("secret")));
        (Table::new(Arc::new(DynamoDb::new(&sdk)), "table"), calls)
    }

    async fn commit(table: &Table) -> Result<Written> {
        let key = Key::new("p", "s");
        let transaction = table.transaction().put(&key, &json!({}), Condition::Absent)?;
        transaction.commit().await
    }

    #[tokio::test]
    async fn throttling_is_retried_and_then_unavailable() {
        let (table, calls) = table(vec![vec!["None", "ThrottlingError"]; 2]).await;
        assert_eq!(commit(&table).await.unwrap(), Written::Done);
        assert_eq!(calls.load(Ordering::SeqCst), 3);

        let (table, calls) = self::table(vec![vec!["ThrottlingError"]; 20]).await;
        assert_eq!(commit(&table).await.unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(calls.load(Ordering::SeqCst), MAX_THROTTLED_ATTEMPTS as usize);
    }

    #[tokio::test]
    async fn a_condition_that_does_not_hold_comes_before_throttling() {
        let (table, calls) = table(vec![vec!["ThrottlingError", "ConditionalCheckFailed"]]).await;
        assert_eq!(commit(&table).await.unwrap(), Written::Refused { step: 1 });
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_conflict_that_lasts_is_contention() {
        let (table, calls) = table(vec![vec!["TransactionConflict"]; 20]).await;
        assert_eq!(commit(&table).await.unwrap(), Written::Contended);
        assert_eq!(calls.load(Ordering::SeqCst), MAX_ATTEMPTS as usize);
    }

    #[tokio::test]
    async fn an_invalid_item_is_not_retried() {
        let (table, calls) = table(vec![vec!["ValidationError"]]).await;
        assert_eq!(commit(&table).await.unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
