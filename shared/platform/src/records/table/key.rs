//! Where an item is.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;
use crate::clock::UtcTime;
use crate::records::schema::GSI1;

/// The key of an item, and of its places in the indexes where it has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
    /// Partition and sort keys in further indexes, by their names.
    pub indexes: Vec<(&'static str, String, String)>,
    /// Which kind of unfinished work it is, and when somebody should look at it.
    pub due: Option<(&'static str, UtcTime)>,
}

impl Key {
    /// A key outside of every further index.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sk: sk.into(),
            indexes: Vec::new(),
            due: None,
        }
    }

    /// The same key with a place in `gsi1`.
    #[must_use]
    pub fn with_gsi1(self, pk: impl Into<String>, sk: impl Into<String>) -> Self {
        self.with_index(GSI1, pk, sk)
    }

    /// The same key with a place in the index of this name.
    #[must_use]
    pub fn with_index(mut self, index: &'static str, pk: impl Into<String>, sk: impl Into<String>) -> Self {
        self.indexes.push((index, pk.into(), sk.into()));
        self
    }

    /// The same key, of unfinished work of the kind `shard` that somebody should look at by `at`.
    #[must_use]
    pub fn with_due(mut self, shard: &'static str, at: UtcTime) -> Self {
        self.due = Some((shard, at));
        self
    }

    pub(super) fn attributes(&self) -> Item {
        HashMap::from([
            ("pk".to_owned(), AttributeValue::S(self.pk.clone())),
            ("sk".to_owned(), AttributeValue::S(self.sk.clone())),
        ])
    }
}
