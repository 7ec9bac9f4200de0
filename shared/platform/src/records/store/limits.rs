//! Defines the limits of DynamoDB (documentation, "Quotas and limits"), which every adapter enforces.

use serde_json::{Number, Value};

use super::{Action, Item, Step};
use crate::error::{Error, Result};

/// Maximum size of an item, in bytes, including attribute names.
pub const MAX_ITEM_BYTES: usize = 400 * 1_024;
/// Maximum nesting of lists and objects in an attribute.
pub const MAX_DEPTH: usize = 32;
/// Maximum number of steps of a transaction.
pub const MAX_STEPS: usize = 100;
/// Maximum total size of the items of a transaction, in bytes.
pub const MAX_TRANSACTION_BYTES: usize = 4 * 1_024 * 1_024;
/// Maximum total size of the items that a page reads, in bytes.
pub const MAX_PAGE_BYTES: usize = 1_024 * 1_024;
/// Maximum number of keys of a read of several items.
pub const MAX_KEYS: usize = 100;
/// Maximum length of a partition key, in bytes.
pub const MAX_PK_BYTES: usize = 2_048;
/// Maximum length of a sort key, in bytes.
pub const MAX_SK_BYTES: usize = 1_024;

/// Returns the size of an item in bytes by DynamoDB's rule: names, and values by type.
pub fn bytes_of(item: &Item) -> usize {
    let attributes = item.attributes().iter();
    attributes
        .map(|(name, value)| name.len() + value_bytes(value))
        .sum()
}

/// Returns the size of a value by DynamoDB's rule, without the attribute's name.
pub fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 1,
        Value::String(text) => text.len(),
        Value::Number(number) => number_bytes(number),
        // Three bytes for the list, and one for each value.
        Value::Array(values) => 3 + values.iter().map(|value| 1 + value_bytes(value)).sum::<usize>(),
        Value::Object(values) => {
            let values = values
                .iter()
                .map(|(name, value)| 1 + name.len() + value_bytes(value));
            3 + values.sum::<usize>()
        }
    }
}

/// One byte for two significant digits, and one more; one for a sign.
fn number_bytes(number: &Number) -> usize {
    let text = number.to_string();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits.div_ceil(2) + 1 + usize::from(text.starts_with('-'))
}

/// Refuses a transaction with too many steps for DynamoDB, or with two steps on one item.
pub fn check_steps(steps: &[Step]) -> Result<()> {
    if steps.is_empty() || steps.len() > MAX_STEPS {
        let steps = steps.len();
        return Err(Error::internal(format!(
            "a transaction has {steps} steps, and can have 1 to {MAX_STEPS}"
        )));
    }
    let mut keys: Vec<_> = steps
        .iter()
        .map(|step| (&*step.table, &step.key.pk, &step.key.sk))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.len() < steps.len() {
        return Err(Error::internal("a transaction has two steps on one item"));
    }
    let put = steps.iter().map(|step| match &step.action {
        Action::Put(item) => bytes_of(item),
        Action::Update(_) | Action::Delete | Action::Check => 0,
    });
    let bytes: usize = put.sum();
    if bytes > MAX_TRANSACTION_BYTES {
        return Err(Error::internal(format!(
            "a transaction has {bytes} bytes, and can have {MAX_TRANSACTION_BYTES}"
        )));
    }
    Ok(())
}

/// Refuses an item that is too large, too deep, or has an invalid key.
pub fn check_item(item: &Item) -> Result<()> {
    let bytes = bytes_of(item);
    if bytes > MAX_ITEM_BYTES {
        let (pk, sk) = (item.text("pk"), item.text("sk"));
        return Err(Error::internal(format!(
            "the item {pk:?} {sk:?} has {bytes} bytes, and can have {MAX_ITEM_BYTES}"
        )));
    }
    for (name, value) in item.attributes() {
        if is_deeper(value, MAX_DEPTH) {
            return Err(Error::internal(format!(
                "the attribute {name} of an item has more than {MAX_DEPTH} levels"
            )));
        }
    }
    for (name, most) in [("pk", MAX_PK_BYTES), ("sk", MAX_SK_BYTES)] {
        let length = item.text(name).map_or(0, str::len);
        if length == 0 || length > most {
            return Err(Error::internal(format!(
                "the key {name} of an item has {length} bytes, and can have 1 to {most}"
            )));
        }
    }
    Ok(())
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => true,
        (Value::Array(values), Some(levels)) => values.iter().any(|value| is_deeper(value, levels)),
        (Value::Object(values), Some(levels)) => values.values().any(|value| is_deeper(value, levels)),
        _ => false,
    }
}
