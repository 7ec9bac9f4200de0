//! Where an item is.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;

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

    pub(super) fn attributes(&self) -> Item {
        HashMap::from([
            ("pk".to_owned(), AttributeValue::S(self.pk.clone())),
            ("sk".to_owned(), AttributeValue::S(self.sk.clone())),
        ])
    }
}
