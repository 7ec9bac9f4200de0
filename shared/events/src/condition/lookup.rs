//! Finds the values that a condition names in the event.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::budget::{Budget, Result, Stop};
use super::value::Value;

/// Returns the value that a name stands for: the data itself without one, or the default.
pub(super) fn variable<'a>(
    name: &Value,
    default: &'a Value,
    data: &'a Value,
    budget: &mut Budget,
) -> Result<Cow<'a, Value>> {
    let name = match name {
        Value::Undefined | Value::Null => return Ok(Cow::Borrowed(data)),
        Value::Text(units) if units.is_empty() => return Ok(Cow::Borrowed(data)),
        name => name.units(budget)?,
    };
    let path = String::from_utf16_lossy(&name);
    property(path.split('.'), name.len(), Cow::Borrowed(default), data, budget)
}

/// Returns the property at the end of a path of `units` in UTF-16, or the default.
pub(super) fn property<'a, 'p>(
    path: impl Iterator<Item = &'p str>,
    units: usize,
    default: Cow<'a, Value>,
    data: &'a Value,
    budget: &mut Budget,
) -> Result<Cow<'a, Value>> {
    let absent = match *default {
        Value::Undefined => Cow::Owned(Value::Null),
        _ => default,
    };
    budget.spend_units(units)?;
    let mut value = Cow::Borrowed(data);
    for part in path {
        budget.spend(1)?;
        if value.is_nullish() {
            return Ok(absent);
        }
        let next = match value {
            Cow::Borrowed(value) => value.property(part, budget)?,
            Cow::Owned(value) => value
                .property(part, budget)?
                .map(|next| Cow::Owned(next.into_owned())),
        };
        match next {
            Some(next) if !matches!(*next, Value::Undefined) => value = next,
            _ => return Ok(absent),
        }
    }
    Ok(value)
}

/// Returns the names whose value is null, an empty text or not there.
pub(super) fn missing<'v>(
    names: impl IntoIterator<Item = &'v Value>,
    data: &Value,
    budget: &mut Budget,
) -> Result<Vec<Value>> {
    let mut absent = Vec::new();
    for name in names {
        if is_operation(name, budget)? {
            return Err(Stop::Failed("a name of 'missing' is an object".to_owned()));
        }
        // As there, a name may be a list of a name and its default.
        let value = match name {
            Value::List(list) => {
                let mut items = list.items.iter();
                let mut next = || items.next().unwrap_or(&Value::Undefined);
                variable(next(), next(), data, budget)?
            }
            name => variable(name, &Value::Undefined, data, budget)?,
        };
        let is_absent = match &*value {
            Value::Null => true,
            Value::Text(units) => units.is_empty(),
            _ => false,
        };
        if is_absent {
            absent.push(name.clone());
        }
    }
    Ok(absent)
}

/// Returns whether json-logic-js would evaluate a name, although it is data.
fn is_operation(name: &Value, budget: &mut Budget) -> Result<bool> {
    budget.spend(1)?;
    match name {
        Value::Object(fields) => Ok(fields.len() == 1),
        Value::List(list) => {
            for item in &list.items {
                if is_operation(item, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

/// Returns the missing names unless enough others are there.
pub(super) fn missing_some(
    needed: &Value,
    names: &Value,
    data: &Value,
    budget: &mut Budget,
) -> Result<Value> {
    let (absent, count) = match names {
        Value::List(list) => {
            // As there, a list in the first place is the list of names.
            let names = match list.items.first() {
                Some(Value::List(inner)) => &inner.items,
                _ => &list.items,
            };
            (missing(names, data, budget)?, list.items.len() as f64)
        }
        Value::Undefined | Value::Null => {
            return Err(Stop::Failed("'missing_some' needs a list of names".to_owned()));
        }
        Value::Text(units) => (missing([names], data, budget)?, units.len() as f64),
        _ => (missing([names], data, budget)?, f64::NAN),
    };
    let present = Value::Number(count - absent.len() as f64);
    let is_enough = present.compare(needed, budget)?.is_some_and(Ordering::is_ge);
    Value::list(if is_enough { Vec::new() } else { absent }, budget)
}
