//! Changes of single attributes of an item, for a writer who has not read it.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use super::{Condition, Item};
use crate::error::{Error, Result};

/// Changes of single attributes of an item.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    set: Vec<(String, AttributeValue)>,
    append: Vec<(String, AttributeValue)>,
    add: Vec<(String, AttributeValue)>,
    remove: Vec<String>,
}

impl Changes {
    /// Gives an attribute this value.
    pub fn set<T: Serialize>(mut self, name: &str, value: &T) -> Result<Self> {
        self.set.push((name.to_owned(), attribute(value)?));
        Ok(self)
    }

    /// Takes an attribute away where there is no value, else gives it this one.
    pub fn set_or_remove<T: Serialize>(self, name: &str, value: Option<&T>) -> Result<Self> {
        match value {
            Some(value) => self.set(name, value),
            None => Ok(self.remove(name)),
        }
    }

    /// Puts these values at the end of a list; a missing list is as an empty one.
    pub fn append<T: Serialize>(mut self, name: &str, values: &[T]) -> Result<Self> {
        if !values.is_empty() {
            self.append.push((name.to_owned(), attribute(&values)?));
        }
        Ok(self)
    }

    /// Adds to a number, or takes from it; a missing one is as 0.
    #[must_use]
    pub fn add(mut self, name: &str, amount: i64) -> Self {
        self.add
            .push((name.to_owned(), AttributeValue::N(amount.to_string())));
        self
    }

    /// Takes an attribute away.
    #[must_use]
    pub fn remove(mut self, name: &str) -> Self {
        self.remove.push(name.to_owned());
        self
    }

    /// Moves the item to this place of an index.
    #[must_use]
    pub fn place(mut self, index: &str, pk: String, sk: String) -> Self {
        self.set.push((format!("{index}pk"), AttributeValue::S(pk)));
        self.set.push((format!("{index}sk"), AttributeValue::S(sk)));
        self
    }

    /// Takes the item out of this index.
    #[must_use]
    pub fn leave(self, index: &str) -> Self {
        self.remove(&format!("{index}pk")).remove(&format!("{index}sk"))
    }

    /// Takes the item out of the index of unfinished work.
    #[must_use]
    pub fn not_due(self) -> Self {
        self.remove("due_shard").remove("due_at")
    }

    pub(super) fn expression(&self) -> String {
        let set = self.set.iter().enumerate();
        let set = set.map(|(place, _)| format!("#s{place} = :s{place}"));
        let append = self.append.iter().enumerate();
        let append = append
            .map(|(place, _)| format!("#a{place} = list_append(if_not_exists(#a{place}, :none), :a{place})"));
        let set: Vec<_> = set.chain(append).collect();
        let remove: Vec<_> = (0..self.remove.len()).map(|place| format!("#r{place}")).collect();
        let mut parts = Vec::new();
        if !set.is_empty() {
            parts.push(format!("SET {}", set.join(", ")));
        }
        let add = self.add.iter().enumerate();
        let add: Vec<_> = add.map(|(place, _)| format!("#n{place} :n{place}")).collect();
        if !add.is_empty() {
            parts.push(format!("ADD {}", add.join(", ")));
        }
        if !remove.is_empty() {
            parts.push(format!("REMOVE {}", remove.join(", ")));
        }
        parts.join(" ")
    }

    pub(super) fn names(&self, condition: Option<&Condition>) -> HashMap<String, String> {
        let named = |letter: char, names: Vec<&String>| {
            let names = names.into_iter().enumerate();
            let names = names.map(move |(place, name)| (format!("#{letter}{place}"), name.clone()));
            names.collect::<Vec<_>>()
        };
        let mut names = condition.and_then(Condition::names).unwrap_or_default();
        names.extend(named('s', self.set.iter().map(|(name, _)| name).collect()));
        names.extend(named('a', self.append.iter().map(|(name, _)| name).collect()));
        names.extend(named('n', self.add.iter().map(|(name, _)| name).collect()));
        names.extend(named('r', self.remove.iter().collect()));
        names
    }

    pub(super) fn values(&self, condition: Option<&Condition>) -> Option<Item> {
        let mut values = condition.and_then(Condition::values).unwrap_or_default();
        for (place, (_, value)) in self.set.iter().enumerate() {
            values.insert(format!(":s{place}"), value.clone());
        }
        for (place, (_, value)) in self.append.iter().enumerate() {
            values.insert(format!(":a{place}"), value.clone());
        }
        for (place, (_, value)) in self.add.iter().enumerate() {
            values.insert(format!(":n{place}"), value.clone());
        }
        if !self.append.is_empty() {
            values.insert(":none".to_owned(), AttributeValue::L(Vec::new()));
        }
        (!values.is_empty()).then_some(values)
    }
}

fn attribute<T: Serialize>(value: &T) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(value).map_err(Error::internal)
}
