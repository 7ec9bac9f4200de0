//! Stores JSON data of a process as its text.
//!
//! A JSON number has any size and precision, but `serde_json::Value` rounds it. With the text, a number that
//! no expression computes with leaves a process unchanged.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::MAX_DATA_LEVELS;
use crate::source::{self, Tree};

/// A JSON value. Clones share its text.
#[derive(Clone)]
pub struct Data(Arc<RawValue>);

/// A text that is not JSON, or nests too deeply.
#[derive(Debug, thiserror::Error)]
#[error("the data is not JSON: {0}")]
pub struct NotJson(String);

impl Data {
    /// Parses a JSON text. Errors name line and column.
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        let raw: Box<RawValue> = serde_json::from_str(text).map_err(|error| NotJson(error.to_string()))?;
        Self::from_raw(raw)
    }

    /// As [`parse`](Self::parse), for a text that is already JSON.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, NotJson> {
        if levels(raw.get()) > MAX_DATA_LEVELS {
            return Err(NotJson(format!("it nests deeper than {MAX_DATA_LEVELS} levels")));
        }
        Ok(Self(Arc::from(raw)))
    }

    /// Parses a document in JSON or YAML; of YAML only the values of JSON.
    pub fn of_document(text: &str) -> Result<Self, NotJson> {
        if text.trim_start().starts_with('{')
            && let Ok(data) = Self::parse(text)
        {
            return Ok(data);
        }
        let tree = source::read_yaml(text).map_err(|fault| NotJson(fault.message))?;
        Ok(Self::from(tree))
    }

    /// Returns the value unless it nests too deeply, which combined data may.
    pub fn bounded(self) -> Result<Self, NotJson> {
        match levels(self.get()) {
            0..=MAX_DATA_LEVELS => Ok(self),
            _ => Err(NotJson(format!("it nests deeper than {MAX_DATA_LEVELS} levels"))),
        }
    }

    pub fn null() -> Self {
        Self(Arc::from(RawValue::NULL.to_owned()))
    }

    pub fn text(text: &str) -> Self {
        Self::from(Tree::Text(text.to_owned()))
    }

    pub fn list(items: &[Self]) -> Self {
        let items: Vec<&str> = items.iter().map(Self::get).collect();
        Self::written(format!("[{}]", items.join(",")))
    }

    /// Builds an object. A repeated name keeps its last value.
    pub fn object<N: AsRef<str>>(fields: impl IntoIterator<Item = (N, Self)>) -> Self {
        let mut entries: Vec<(String, Tree)> = Vec::new();
        for (name, value) in fields {
            let name = name.as_ref();
            entries.retain(|(other, _)| other != name);
            entries.push((name.to_owned(), value.tree()));
        }
        Self::from(Tree::Object(entries))
    }

    /// Returns the JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the text in a form that `serde_json` embeds without parsing it.
    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Converts to a `serde_json` value; a number beyond 64 bits is rounded.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.get()).unwrap_or_default()
    }

    /// Returns a text without its quotes; None for any other value.
    pub fn as_text(&self) -> Option<String> {
        serde_json::from_str(self.get()).ok()
    }

    pub fn is_object(&self) -> bool {
        self.get().trim_start().starts_with('{')
    }

    /// None unless the value is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        serde_json::from_str(self.get()).ok()
    }

    /// Returns the items of a list; None for any other value.
    pub fn items(&self) -> Option<Vec<Self>> {
        let items: Vec<Box<RawValue>> = serde_json::from_str(self.get()).ok()?;
        Some(items.into_iter().map(|raw| Self(Arc::from(raw))).collect())
    }

    /// Returns the fields of an object, in order; None for any other value.
    pub fn fields(&self) -> Option<Vec<(String, Self)>> {
        match self.tree() {
            Tree::Object(entries) => {
                let entries = entries.into_iter();
                Some(entries.map(|(name, value)| (name, Self::from(value))).collect())
            }
            _ => None,
        }
    }

    /// Returns the value of a field of an object.
    pub fn field(&self, name: &str) -> Option<Self> {
        match self.tree() {
            Tree::Object(entries) => {
                let entry = entries.into_iter().find(|(other, _)| other == name);
                entry.map(|(_, value)| Self::from(value))
            }
            _ => None,
        }
    }

    /// Returns the first number that no double holds: readers of JSON take it as null or infinity.
    pub fn number_beyond_double(&self) -> Option<String> {
        /// Digits of the largest double; a shorter number without an exponent is smaller.
        const DIGITS: usize = 309;
        let text = self.get();
        let is_short = text.len() < DIGITS && !text.contains(['e', 'E']);
        if is_short {
            return None;
        }
        self.tree().number_beyond_double().map(str::to_owned)
    }

    /// Merges objects field by field, at any depth; any other value of `over` replaces the value here.
    #[must_use]
    pub fn merged(&self, over: &Self) -> Self {
        Self::from(self.tree().merged(over.tree()))
    }

    pub(crate) fn tree(&self) -> Tree {
        Tree::of_json(self.get())
    }

    /// The text must be JSON.
    pub(crate) fn written(text: String) -> Self {
        RawValue::from_string(text).map_or_else(|_| Self::null(), |raw| Self(Arc::from(raw)))
    }
}

impl From<Tree> for Data {
    fn from(tree: Tree) -> Self {
        let mut text = String::new();
        tree.write(&mut text);
        Self::written(text)
    }
}

impl From<&Value> for Data {
    fn from(value: &Value) -> Self {
        Self::written(value.to_string())
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

/// Compares as JSON: the order of fields is ignored, and `1` and `1.0` are the same number.
impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get() || self.tree().same(&other.tree())
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

/// Returns the nesting depth of a JSON text.
fn levels(json: &str) -> usize {
    let (mut level, mut deepest, mut in_text, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' if !in_text => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
