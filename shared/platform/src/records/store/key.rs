//! Defines the keys of items.

use std::borrow::Cow;

use crate::clock::UtcTime;
use crate::records::schema::{DUE, GSI1, LISTED_AT};

/// Key of an item, and its places in further indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub pk: String,
    pub sk: String,
    /// Index name and partition key of each place.
    pub indexes: Vec<(&'static str, String)>,
    /// Sort key of all these places.
    pub listed_at: Option<String>,
    /// Partition of unfinished work, and the time from which on the sweeper finds it.
    pub due: Option<(String, UtcTime)>,
}

impl Key {
    /// Creates a key without places in further indexes.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sk: sk.into(),
            indexes: Vec::new(),
            listed_at: None,
            due: None,
        }
    }

    /// Adds a place in `gsi1`.
    #[must_use]
    pub fn with_gsi1(self, pk: impl Into<String>, sk: impl Into<String>) -> Self {
        self.listed_at(sk).with_index(GSI1, pk)
    }

    /// Sets the sort key of the places in indexes.
    #[must_use]
    pub fn listed_at(mut self, sk: impl Into<String>) -> Self {
        self.listed_at = Some(sk.into());
        self
    }

    /// Adds a place in the index of this name.
    #[must_use]
    pub fn with_index(mut self, index: &'static str, pk: impl Into<String>) -> Self {
        self.indexes.push((index, pk.into()));
        self
    }

    /// Adds the place of unfinished work in the partition `shard`, which the sweeper finds from `at` on.
    #[must_use]
    pub fn with_due(mut self, shard: impl Into<String>, at: UtcTime) -> Self {
        self.due = Some((shard.into(), at));
        self
    }

    /// Returns the attributes that the key sets.
    pub(super) fn attributes(&self) -> Vec<(String, String)> {
        let mut attributes = vec![
            ("pk".to_owned(), self.pk.clone()),
            ("sk".to_owned(), self.sk.clone()),
        ];
        for (index, pk) in &self.indexes {
            let [pk_name, _] = key_names(index);
            attributes.push((pk_name.into_owned(), pk.clone()));
        }
        if let Some(sk) = &self.listed_at {
            attributes.push((LISTED_AT.to_owned(), sk.clone()));
        }
        if let Some((shard, at)) = &self.due {
            let [pk_name, sk_name] = key_names(DUE);
            attributes.push((pk_name.into_owned(), (*shard).to_owned()));
            attributes.push((sk_name.into_owned(), at.to_string()));
        }
        attributes
    }
}

/// Returns the names of the attributes that place an item in an index. All indexes but [`DUE`] share the sort
/// key, which an item pays for once.
pub fn key_names(index: &str) -> [Cow<'static, str>; 2] {
    match index {
        DUE => ["due_shard".into(), "due_at".into()],
        index => [format!("{index}pk").into(), LISTED_AT.into()],
    }
}

/// Item after which the rest of a range starts; the item need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub pk: String,
    pub sk: String,
    /// Keys of the item's place in the index that is read; None for a range of the table.
    pub in_index: Option<(String, String)>,
}
