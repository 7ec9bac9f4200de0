//! Evaluates conditions of writes.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::Item;
use crate::records::schema::EXPIRES_AT;

#[derive(Clone, Debug)]
pub enum Condition {
    /// The item does not exist.
    Absent,
    /// The item exists.
    Present,
    /// The item exists, and this attribute is this number.
    NumberIs(&'static str, u64),
    /// The item exists, and this attribute is this text.
    TextIs(&'static str, String),
    /// The item exists, and this attribute is a number below this one.
    NumberBelow(&'static str, u64),
    /// The item exists and has this attribute.
    Has(&'static str),
    /// The item exists and does not have this attribute.
    Lacks(&'static str),
    /// The item does not exist, or it expired before this time, in seconds since the Unix epoch.
    AbsentOrExpired(i64),
}

impl Condition {
    /// Whether the condition holds for an item; None means a missing item.
    pub fn holds(&self, item: Option<&Item>) -> bool {
        let compared = |name: &str, other: i128| match item?.get(name)? {
            Value::Number(number) => compare(number, other),
            _ => None,
        };
        match self {
            Self::Absent => item.is_none(),
            Self::Present => item.is_some(),
            Self::NumberIs(name, expected) => compared(name, i128::from(*expected)) == Some(Ordering::Equal),
            Self::NumberBelow(name, expected) => {
                compared(name, i128::from(*expected)) == Some(Ordering::Less)
            }
            Self::TextIs(name, expected) => item.is_some_and(|item| item.text(name) == Some(expected)),
            Self::Has(name) => item.is_some_and(|item| item.get(name).is_some()),
            Self::Lacks(name) => item.is_some_and(|item| item.get(name).is_none()),
            Self::AbsentOrExpired(now) => {
                item.is_none() || compared(EXPIRES_AT, i128::from(*now)) == Some(Ordering::Less)
            }
        }
    }
}

/// Compares values as DynamoDB does: 1.0 equals 1.
fn compare(number: &Number, other: i128) -> Option<Ordering> {
    match number.as_i128() {
        Some(number) => Some(number.cmp(&other)),
        #[expect(clippy::cast_precision_loss, reason = "a fraction is not exact either")]
        None => number.as_f64()?.partial_cmp(&(other as f64)),
    }
}
