//! Reads JSON: refuses repeated names, and keeps the text of numbers.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Refusal, Tree};
use crate::fault::{Fault, Place};
use crate::limits::{MAX_DATA_LEVELS, MAX_DOCUMENT_LEVELS};

pub fn read(text: &str) -> Result<Tree, Refusal> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
        let message = format!("The definition is not JSON: {error}.");
        Refusal::Syntax(Fault {
            pointer: String::new(),
            message,
        })
    })?;
    tree(raw.get(), &Place::default(), MAX_DOCUMENT_LEVELS, true).map_err(Refusal::Rule)
}

/// Reads data as a tree. As in jq, the last of two equal names counts.
pub fn read_data(text: &str) -> Result<Tree, Fault> {
    tree(text, &Place::default(), MAX_DATA_LEVELS + 1, false)
}

/// Fields of an object, in order.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor).map(Fields)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = map.next_entry()? {
            fields.push(entry);
        }
        Ok(fields)
    }
}

fn tree(text: &str, at: &Place, levels: usize, is_strict: bool) -> Result<Tree, Fault> {
    let fault = |message: String| Fault {
        pointer: at.pointer().to_owned(),
        message,
    };
    let Some(levels) = levels.checked_sub(1) else {
        return Err(fault(format!(
            "The definition nests deeper than {MAX_DOCUMENT_LEVELS} levels."
        )));
    };
    let broken = |error: serde_json::Error| fault(format!("The value is not JSON: {error}."));
    match text.trim_start().bytes().next() {
        Some(b'{') => {
            let Fields(fields) = serde_json::from_str(text).map_err(broken)?;
            let mut entries: Vec<(String, Tree)> = Vec::with_capacity(fields.len());
            let mut seen = std::collections::HashMap::new();
            for (name, raw) in fields {
                let value = tree(raw.get(), &at.field(&name), levels, is_strict)?;
                match seen.get(&name).and_then(|place: &usize| entries.get_mut(*place)) {
                    Some(_) if is_strict => return Err(super::twice(at, &name)),
                    Some(entry) => entry.1 = value,
                    None => {
                        seen.insert(name.clone(), entries.len());
                        entries.push((name, value));
                    }
                }
            }
            Ok(Tree::Object(entries))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
            let items = items.into_iter().enumerate();
            let items = items.map(|(index, raw)| tree(raw.get(), &at.item(index), levels, is_strict));
            Ok(Tree::List(items.collect::<Result<_, _>>()?))
        }
        Some(b'"') => serde_json::from_str(text).map(Tree::Text).map_err(broken),
        Some(b't') => Ok(Tree::Bool(true)),
        Some(b'f') => Ok(Tree::Bool(false)),
        Some(b'n') => Ok(Tree::Null),
        _ => Ok(Tree::Number(text.trim().to_owned())),
    }
}
