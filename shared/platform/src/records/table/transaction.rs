//! Several conditional writes that happen together or not at all.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, Put, TransactWriteItem};
use serde::Serialize;

use super::{Condition, Key, Table, Written, failed, write};
use crate::error::{Error, Result};

/// Several conditional writes that happen together or not at all.
pub struct Transaction<'a> {
    pub(super) table: &'a Table,
    pub(super) steps: Vec<TransactWriteItem>,
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
