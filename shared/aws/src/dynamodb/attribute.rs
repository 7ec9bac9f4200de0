//! Converts items and positions to and from DynamoDB's form.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use platform::error::{Error, Result};
use platform::records::schema::{TableKind, indexes};
use platform::records::store::{Item, Key, Position, Query, key_names};
use platform::stored_json;
use serde::Serialize;
use serde_json::{Map, Value};

pub(super) type Attributes = HashMap<String, AttributeValue>;

pub(super) fn attribute(value: &impl Serialize) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(value).map_err(Error::internal)
}

/// Returns the value of an attribute of an item: the bytes of a compressed text, except in a key.
pub(super) fn attribute_of(name: &str, value: &Value) -> Result<AttributeValue> {
    match value {
        Value::String(text) if !is_key(name) => Ok(text_attribute(text)),
        value => attribute(value),
    }
}

/// Returns the value of an attribute that is a text and no key.
pub(super) fn text_attribute(text: &str) -> AttributeValue {
    match stored_json::bytes_of(text) {
        Some(bytes) => AttributeValue::B(Blob::new(bytes)),
        None => AttributeValue::S(text.to_owned()),
    }
}

fn is_key(name: &str) -> bool {
    let mut of_indexes = indexes(TableKind::Listed)
        .iter()
        .flat_map(|index| key_names(index));
    ["pk", "sk"].contains(&name) || of_indexes.any(|key| key == name)
}

pub(super) fn attributes(item: &Item) -> Result<Attributes> {
    let attributes = item.attributes().iter();
    attributes
        .map(|(name, value)| Ok((name.clone(), attribute_of(name, value)?)))
        .collect()
}

pub(super) fn item(attributes: Attributes) -> Result<Item> {
    let values = attributes.into_iter().map(|(name, value)| {
        let value = match value {
            AttributeValue::B(bytes) => Value::String(stored_json::text_of(bytes.as_ref())),
            value => serde_dynamo::from_attribute_value(value).map_err(Error::internal)?,
        };
        Ok((name, value))
    });
    let fields: Map<String, Value> = values.collect::<Result<_>>()?;
    Ok(Item::from(fields))
}

pub(super) fn key(key: &Key) -> Attributes {
    primary_key(&key.pk, &key.sk)
}

fn primary_key(pk: &str, sk: &str) -> Attributes {
    HashMap::from([
        ("pk".to_owned(), AttributeValue::S(pk.to_owned())),
        ("sk".to_owned(), AttributeValue::S(sk.to_owned())),
    ])
}

/// Returns the exclusive start key for a position in its index.
pub(super) fn start_key(position: Position, index: Option<&str>) -> Attributes {
    let mut key = primary_key(&position.pk, &position.sk);
    if let (Some((pk, sk)), Some(index)) = (position.in_index, index) {
        let [pk_name, sk_name] = key_names(index);
        key.insert(pk_name.into_owned(), AttributeValue::S(pk));
        key.insert(sk_name.into_owned(), AttributeValue::S(sk));
    }
    key
}

/// Returns the position of a last evaluated key.
pub(super) fn position(mut key: Attributes, query: Option<&Query>) -> Result<Position> {
    let mut take = |name: &str| match key.remove(name) {
        Some(AttributeValue::S(text)) => Ok(text),
        _ => Err(Error::internal(format!("the last key of a page has no {name}"))),
    };
    let in_index = match query.and_then(|query| query.index) {
        Some(index) => {
            let [pk_name, sk_name] = key_names(index);
            Some((take(&pk_name)?, take(&sk_name)?))
        }
        None => None,
    };
    Ok(Position {
        pk: take("pk")?,
        sk: take("sk")?,
        in_index,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_comes_back_as_it_was() {
        let json = json!({
            "text": "ü\n\0", "empty": "", "null": null, "true": true, "low": i64::MIN, "high": u64::MAX,
            "half": -0.5, "list": [1, "a", [], {}], "map": { "a": { "b": [null] } },
            "compressed": stored_json::write(&"a".repeat(100)).unwrap(), "nested": ["z2:AAAA"],
            "looks": "z2:", "like": "z2:AAAA", "it": "z2:AB", "not": "z2:a b", "padded": "z2:AA==",
        });
        let before =
            Item::from_record(&Key::new("z2:AAAA", "z2:BBBB").with_gsi1("z2:", "z2:CCCC"), &json).unwrap();
        let stored = attributes(&before).unwrap();
        assert!(stored["compressed"].is_b());
        for text in ["pk", "sk", "gsi1pk", "listed_at", "it", "not", "padded"] {
            assert!(stored[text].is_s(), "{text}");
        }
        assert_eq!(item(stored).unwrap(), before);
    }
}
