//! Refuses requests that DynamoDB refuses for reasons other than its [`limits`](super::limits).

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use super::limits::{MAX_KEYS, MAX_PK_BYTES, MAX_SK_BYTES};
use super::{Action, Changes, Item, Key, Step, key_names};
use crate::error::{Error, Result};

/// Magnitudes of numbers other than 0; DynamoDB allows 38 digits below 1e126.
const MAGNITUDES: Range<f64> = 1e-130..1e126;

/// Refuses a step whose key, changes or missing condition DynamoDB would refuse for any stored item.
pub fn check_step(step: &Step) -> Result<()> {
    check_key(&step.key)?;
    match (&step.action, &step.condition) {
        (Action::Update(changes), _) => check_changes(changes),
        (Action::Check, None) => Err(Error::internal("a check has no condition")),
        _ => Ok(()),
    }
}

/// Refuses an empty key, and one that is too long.
pub fn check_key(key: &Key) -> Result<()> {
    check_text("pk", &key.pk, MAX_PK_BYTES)?;
    check_text("sk", &key.sk, MAX_SK_BYTES)
}

/// Refuses a read with too many keys, a repeated key, or an invalid key.
pub fn check_keys(keys: &[Key]) -> Result<()> {
    let distinct: BTreeSet<_> = keys.iter().map(|key| (&key.pk, &key.sk)).collect();
    if keys.len() > MAX_KEYS || distinct.len() < keys.len() {
        let (keys, distinct) = (keys.len(), distinct.len());
        return Err(Error::internal(format!(
            "one read is of {keys} keys, {distinct} of them distinct, and can be of {MAX_KEYS} distinct keys"
        )));
    }
    keys.iter().try_for_each(check_key)
}

/// Refuses an item with an invalid place in one of these indexes, a number outside DynamoDB's range, or an
/// empty attribute name.
pub fn check_values<'a>(item: &Item, indexes: impl IntoIterator<Item = &'a str>) -> Result<()> {
    for index in indexes {
        for (name, most) in key_names(index).iter().zip([MAX_PK_BYTES, MAX_SK_BYTES]) {
            match item.get(name) {
                None => {}
                Some(Value::String(text)) => check_text(name, text, most)?,
                Some(_) => return Err(Error::internal(format!("the key {name} of an item is no text"))),
            }
        }
    }
    item.attributes()
        .iter()
        .try_for_each(|(name, value)| check_value(name, value))
}

/// An update expression names an attribute once, does not change the key, and is not empty.
fn check_changes(changes: &Changes) -> Result<()> {
    let set = changes.set.iter().map(|(name, _)| name);
    let append = changes.append.iter().map(|(name, _)| name);
    let add = changes.add.iter().map(|(name, _)| name);
    let names = set.chain(append).chain(add).chain(&changes.remove);
    let mut seen = BTreeSet::new();
    for name in names {
        if ["pk", "sk"].contains(&name.as_str()) {
            return Err(Error::internal(format!("an update changes the key {name}")));
        }
        if !seen.insert(name) {
            return Err(Error::internal(format!("an update changes {name} twice")));
        }
    }
    if seen.is_empty() {
        return Err(Error::internal("an update changes nothing"));
    }
    Ok(())
}

fn check_text(name: &str, text: &str, most: usize) -> Result<()> {
    let bytes = text.len();
    if bytes == 0 || bytes > most {
        return Err(Error::internal(format!(
            "the key {name} has {bytes} bytes, and can have 1 to {most}"
        )));
    }
    Ok(())
}

fn check_value(name: &str, value: &Value) -> Result<()> {
    if name.is_empty() {
        return Err(Error::internal("an attribute has an empty name"));
    }
    match value {
        Value::Number(number) => match number.as_f64().map(f64::abs) {
            Some(magnitude) if magnitude == 0.0 || MAGNITUDES.contains(&magnitude) => Ok(()),
            _ => Err(Error::internal(format!(
                "the number {number} in the attribute {name} is beyond DynamoDB's range"
            ))),
        },
        Value::Array(values) => values.iter().try_for_each(|value| check_value(name, value)),
        Value::Object(values) => values
            .iter()
            .try_for_each(|(name, value)| check_value(name, value)),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}
