//! What must hold for a write to happen.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;
use crate::records::schema::EXPIRES_AT;

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
    /// The item is there and this attribute is a number below this one.
    NumberBelow(&'static str, u64),
    /// The item is there and has this attribute.
    Has(&'static str),
    /// The item is there and does not have this attribute.
    Lacks(&'static str),
    /// The item is not there, or its life has ended by this many seconds since the Unix epoch and nobody has removed it yet.
    AbsentOrExpired(i64),
}

impl Condition {
    pub(super) fn expression(&self) -> String {
        match self {
            Self::Absent => "attribute_not_exists(pk)".to_owned(),
            Self::Present => "attribute_exists(pk)".to_owned(),
            Self::NumberIs(..) | Self::TextIs(..) => "#expected = :expected".to_owned(),
            Self::NumberBelow(..) => "#expected < :expected".to_owned(),
            Self::Has(_) => "attribute_exists(#expected)".to_owned(),
            Self::Lacks(_) => "attribute_exists(pk) AND attribute_not_exists(#expected)".to_owned(),
            Self::AbsentOrExpired(_) => "attribute_not_exists(pk) OR #expected < :expected".to_owned(),
        }
    }

    pub(super) fn names(&self) -> Option<HashMap<String, String>> {
        match self {
            Self::NumberIs(name, _)
            | Self::TextIs(name, _)
            | Self::NumberBelow(name, _)
            | Self::Has(name)
            | Self::Lacks(name) => Some(HashMap::from([("#expected".to_owned(), (*name).to_owned())])),
            Self::AbsentOrExpired(_) => {
                Some(HashMap::from([("#expected".to_owned(), EXPIRES_AT.to_owned())]))
            }
            Self::Absent | Self::Present => None,
        }
    }

    pub(super) fn values(&self) -> Option<Item> {
        let value = match self {
            Self::NumberIs(_, number) | Self::NumberBelow(_, number) => AttributeValue::N(number.to_string()),
            Self::TextIs(_, text) => AttributeValue::S(text.clone()),
            Self::AbsentOrExpired(now) => AttributeValue::N(now.to_string()),
            Self::Absent | Self::Present | Self::Has(_) | Self::Lacks(_) => return None,
        };
        Some(HashMap::from([(":expected".to_owned(), value)]))
    }
}
