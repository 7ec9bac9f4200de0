//! Represents the attributes of an item, in a form that all adapters share.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Key;
use crate::error::{Error, Result};

/// Attributes of an item, including keys and places in indexes.
///
/// Records use the part of DynamoDB's model that JSON has: no sets and no binary values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item(Map<String, Value>);

impl Item {
    /// Combines a record with the attributes of its key. An error if the record has no fields.
    pub fn from_record<T: Serialize>(key: &Key, record: &T) -> Result<Self> {
        let Value::Object(fields) = serde_json::to_value(record).map_err(Error::internal)? else {
            return Err(Error::internal("a record has no fields"));
        };
        let mut item = Self(fields);
        item.extend(key.attributes());
        Ok(item)
    }

    pub fn read<T: DeserializeOwned>(self) -> Result<T> {
        serde_json::from_value(Value::Object(self.0)).map_err(Error::internal)
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// None if the attribute is missing or not a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub fn extend(&mut self, attributes: impl IntoIterator<Item = (String, String)>) {
        self.0.extend(
            attributes
                .into_iter()
                .map(|(name, value)| (name, Value::String(value))),
        );
    }

    /// Keeps only the attributes that match, as an index does.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_kept(name));
    }

    /// Includes keys and places in indexes.
    pub fn attributes(&self) -> &Map<String, Value> {
        &self.0
    }

    /// As [`attributes`](Self::attributes), without a copy.
    pub fn into_attributes(self) -> Map<String, Value> {
        self.0
    }
}

impl From<Map<String, Value>> for Item {
    fn from(attributes: Map<String, Value>) -> Self {
        Self(attributes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fraction_keeps_its_last_digit_as_json() {
        for fraction in [1.235_242_042_411_027_6e-85, 0.1, f64::MIN_POSITIVE, f64::MAX] {
            let value = json!({ "n": fraction });
            assert_eq!(serde_json::from_str::<Value>(&value.to_string()).unwrap(), value);
        }
    }
}
