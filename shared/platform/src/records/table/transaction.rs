//! Several conditional writes that happen together or not at all.

use std::time::Duration;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, Put, TransactWriteItem, Update};
use rand::RngExt as _;
use serde::Serialize;

use super::{Changes, Condition, Key, Table, Written, failed, write};
use crate::error::{Error, Result};

/// Attempts of a transaction that meets another one.
const MAX_ATTEMPTS: u64 = 8;

/// Something that must hold for a transaction to happen, in whatever table.
#[derive(Clone)]
pub struct Guard {
    pub(crate) table: Table,
    pub(crate) key: Key,
    pub(crate) condition: Condition,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {:?}", self.condition, self.key)
    }
}

/// Several conditional writes that happen together or not at all.
pub struct Transaction<'a> {
    pub(super) table: &'a Table,
    pub(super) steps: Vec<TransactWriteItem>,
}

impl Transaction<'_> {
    /// Writes a record.
    pub fn put<T: Serialize>(self, key: &Key, record: &T, condition: Condition) -> Result<Self> {
        let table = self.table;
        self.put_into(table, key, record, condition)
    }

    /// Writes a record into another table.
    pub fn put_into<T: Serialize>(
        mut self,
        table: &Table,
        key: &Key,
        record: &T,
        condition: Condition,
    ) -> Result<Self> {
        let put = Put::builder()
            .table_name(&*table.name)
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

    /// Changes single attributes of a record in another table.
    pub fn update_in(
        mut self,
        table: &Table,
        key: &Key,
        changes: &Changes,
        condition: Condition,
    ) -> Result<Self> {
        let update = Update::builder()
            .table_name(&*table.name)
            .set_key(Some(key.attributes()))
            .update_expression(changes.expression())
            .condition_expression(condition.expression())
            .set_expression_attribute_names(Some(changes.names(&condition)))
            .set_expression_attribute_values(changes.values(&condition))
            .build()
            .map_err(Error::internal)?;
        self.steps
            .push(TransactWriteItem::builder().update(update).build());
        Ok(self)
    }

    /// Writes nothing, but refuses the transaction unless the condition holds.
    pub fn check(self, key: &Key, condition: Condition) -> Result<Self> {
        let table = self.table;
        self.check_in(table, key, &condition)
    }

    /// The same for what must hold elsewhere.
    pub fn guarded_by(self, guard: &Guard) -> Result<Self> {
        self.check_in(&guard.table, &guard.key, &guard.condition)
    }

    fn check_in(mut self, table: &Table, key: &Key, condition: &Condition) -> Result<Self> {
        let check = ConditionCheck::builder()
            .table_name(&*table.name)
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

    /// Carries it out. Where another write is under way on one of the items, it waits a little and tries again; what it
    /// answers as [`Written::Contended`] was in the way every time.
    pub async fn commit(self) -> Result<Written> {
        for attempt in 1..=MAX_ATTEMPTS {
            match self.attempt().await? {
                Written::Contended if attempt < MAX_ATTEMPTS => {
                    let pause_ms = rand::rng().random_range(0..20 * attempt);
                    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                }
                written => return Ok(written),
            }
        }
        Ok(Written::Contended)
    }

    async fn attempt(&self) -> Result<Written> {
        let request = self.table.client.transact_write_items();
        let Err(error) = request.set_transact_items(Some(self.steps.clone())).send().await else {
            return Ok(Written::Done);
        };
        if let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
            error.as_service_error()
        {
            let codes: Vec<_> = cancelled
                .cancellation_reasons()
                .iter()
                .map(|reason| reason.code())
                .collect();
            if let Some(step) = codes
                .iter()
                .position(|code| *code == Some("ConditionalCheckFailed"))
            {
                return Ok(Written::Refused { step });
            }
            if codes.contains(&Some("TransactionConflict")) {
                return Ok(Written::Contended);
            }
            // An item that is too large, for one: no repetition helps.
            if codes.contains(&Some("ValidationError")) {
                return Err(Error::internal(format!(
                    "a transaction was refused: {cancelled:?}"
                )));
            }
        }
        Err(failed(error))
    }
}
