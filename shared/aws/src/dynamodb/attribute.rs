//! Converts items and positions to and from DynamoDB's form.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use platform::error::{Error, Result};
use platform::records::store::{Item, Key, Position, Query, key_names};
use serde::Serialize;
use serde_json::{Map, Value};

pub(super) type Attributes = HashMap<String, AttributeValue>;

pub(super) fn attribute(value: &impl Serialize) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(value).map_err(Error::internal)
}

pub(super) fn attributes(item: &Item) -> Result<Attributes> {
    serde_dynamo::to_item(item.attributes()).map_err(Error::internal)
}

pub(super) fn item(attributes: Attributes) -> Result<Item> {
    let fields: Map<String, Value> = serde_dynamo::from_item(attributes).map_err(Error::internal)?;
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
        });
        let before = Item::from_record(&Key::new("p", "s"), &json).unwrap();
        assert_eq!(item(attributes(&before).unwrap()).unwrap(), before);
    }
}
