//! Writes conditions and changes as DynamoDB expressions.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use platform::error::Result;
use platform::records::schema::EXPIRES_AT;
use platform::records::store::{Changes, Condition};

use super::attribute::{Attributes, attribute, attribute_of, text_attribute};

/// Attribute names by their placeholders in an expression.
pub(super) type Names = HashMap<String, String>;

pub(super) fn condition(condition: &Condition) -> String {
    match condition {
        Condition::Absent => "attribute_not_exists(pk)".to_owned(),
        Condition::Present => "attribute_exists(pk)".to_owned(),
        Condition::NumberIs(..) | Condition::TextIs(..) => "#expected = :expected".to_owned(),
        Condition::NumberBelow(..) => "#expected < :expected".to_owned(),
        Condition::Has(_) => "attribute_exists(#expected)".to_owned(),
        Condition::Lacks(_) => "attribute_exists(pk) AND attribute_not_exists(#expected)".to_owned(),
        Condition::AbsentOrExpired(_) => "attribute_not_exists(pk) OR #expected < :expected".to_owned(),
    }
}

/// Returns the placeholders of a condition's names.
pub(super) fn condition_names(condition: &Condition) -> Option<Names> {
    let name = match condition {
        Condition::NumberIs(name, _)
        | Condition::TextIs(name, _)
        | Condition::NumberBelow(name, _)
        | Condition::Has(name)
        | Condition::Lacks(name) => name,
        Condition::AbsentOrExpired(_) => EXPIRES_AT,
        Condition::Absent | Condition::Present => return None,
    };
    Some(Names::from([("#expected".to_owned(), name.to_owned())]))
}

/// Returns the placeholders of a condition's values.
pub(super) fn condition_values(condition: &Condition) -> Option<Attributes> {
    let value = match condition {
        Condition::NumberIs(_, number) | Condition::NumberBelow(_, number) => {
            AttributeValue::N(number.to_string())
        }
        Condition::TextIs(_, text) => text_attribute(text),
        Condition::AbsentOrExpired(now) => AttributeValue::N(now.to_string()),
        Condition::Absent | Condition::Present | Condition::Has(_) | Condition::Lacks(_) => return None,
    };
    Some(HashMap::from([(":expected".to_owned(), value)]))
}

pub(super) fn update(changes: &Changes) -> String {
    let set = changes.set.iter().enumerate();
    let set = set.map(|(place, _)| format!("#s{place} = :s{place}"));
    let append = changes.append.iter().enumerate();
    let append = append
        .map(|(place, _)| format!("#a{place} = list_append(if_not_exists(#a{place}, :none), :a{place})"));
    let set: Vec<_> = set.chain(append).collect();
    let add = changes.add.iter().enumerate();
    let add: Vec<_> = add.map(|(place, _)| format!("#n{place} :n{place}")).collect();
    let remove: Vec<_> = (0..changes.remove.len())
        .map(|place| format!("#r{place}"))
        .collect();
    let parts = [("SET", set), ("ADD", add), ("REMOVE", remove)];
    let parts = parts.iter().filter(|(_, parts)| !parts.is_empty());
    let parts: Vec<_> = parts
        .map(|(verb, parts)| format!("{verb} {}", parts.join(", ")))
        .collect();
    parts.join(" ")
}

pub(super) fn update_names(changes: &Changes, condition: Option<&Condition>) -> Names {
    let mut names = condition.and_then(condition_names).unwrap_or_default();
    let mut name = |letter: char, given: &mut dyn Iterator<Item = &String>| {
        for (place, name) in given.enumerate() {
            names.insert(format!("#{letter}{place}"), name.clone());
        }
    };
    name('s', &mut changes.set.iter().map(|(name, _)| name));
    name('a', &mut changes.append.iter().map(|(name, _)| name));
    name('n', &mut changes.add.iter().map(|(name, _)| name));
    name('r', &mut changes.remove.iter());
    names
}

pub(super) fn update_values(changes: &Changes, condition: Option<&Condition>) -> Result<Option<Attributes>> {
    let mut values = condition.and_then(condition_values).unwrap_or_default();
    for (place, (name, value)) in changes.set.iter().enumerate() {
        values.insert(format!(":s{place}"), attribute_of(name, value)?);
    }
    for (place, (_, appended)) in changes.append.iter().enumerate() {
        values.insert(format!(":a{place}"), attribute(appended)?);
    }
    for (place, (_, amount)) in changes.add.iter().enumerate() {
        values.insert(format!(":n{place}"), AttributeValue::N(amount.to_string()));
    }
    if !changes.append.is_empty() {
        values.insert(":none".to_owned(), AttributeValue::L(Vec::new()));
    }
    Ok((!values.is_empty()).then_some(values))
}
