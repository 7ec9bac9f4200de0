//! Implements the values of JavaScript, on which both languages are based: truth, properties, and conversion
//! to text.

use std::rc::Rc;

use platform::javascript::{index, number_of_text, number_text};
use serde_json::{Map, Value};

use crate::error::RenderError;
use crate::json;
use crate::output::Output;

/// Largest integer that a JavaScript number represents exactly.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// Number of steps to list a property, which creates its name, and to count a code unit: both take much
/// longer than other steps.
const STEPS_OF_ENTRY: usize = 4;

/// A value of the data or the template, or a computed one.
#[derive(Clone)]
pub enum Item<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    /// Integer of the data that a JavaScript number would round.
    Integer(i128),
    Text(&'a str),
    /// Computed text.
    Made(Rc<str>),
    Array(&'a [Value]),
    /// Computed array.
    List(Rc<[Item<'a>]>),
    Object(&'a Map<String, Value>),
    /// Context of a partial with additional properties.
    Merged(Rc<Merged<'a>>),
    /// Object without properties.
    Empty,
}

/// A value with properties that hide its own.
pub struct Merged<'a> {
    pub base: Item<'a>,
    pub own: Vec<(&'a str, Item<'a>)>,
}

impl<'a> From<&'a Value> for Item<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::Array(items),
            Value::Object(fields) => Self::Object(fields),
            Value::Number(number) => {
                let integer = number
                    .as_u64()
                    .map(i128::from)
                    .or(number.as_i64().map(i128::from));
                match integer {
                    Some(integer) if integer.unsigned_abs() > u128::from(MAX_SAFE_INTEGER) => {
                        Self::Integer(integer)
                    }
                    _ => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
                }
            }
        }
    }
}

impl<'a> Item<'a> {
    pub fn is_nullish(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    pub fn is_true(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::Made(text) => !text.is_empty(),
            Self::Integer(_)
            | Self::Array(_)
            | Self::List(_)
            | Self::Object(_)
            | Self::Merged(_)
            | Self::Empty => true,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether it is an object or an array.
    pub fn is_object(&self) -> bool {
        matches!(
            self,
            Self::Array(_) | Self::List(_) | Self::Object(_) | Self::Merged(_) | Self::Empty
        )
    }

    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_) | Self::List(_))
    }

    /// Returns the number of elements of an array; 0 for anything else.
    pub fn count(&self) -> usize {
        match self {
            Self::Array(items) => items.len(),
            Self::List(items) => items.len(),
            _ => 0,
        }
    }

    /// Returns an element of an array.
    pub fn element(&self, index: usize) -> Item<'a> {
        match self {
            Self::Array(items) => items.get(index).map_or(Self::Undefined, Item::from),
            Self::List(items) => items.get(index).cloned().unwrap_or(Self::Undefined),
            _ => Self::Undefined,
        }
    }

    /// Returns an own property. Nothing is inherited, so no name gives access to anything outside the data.
    pub fn property(&self, name: &str, output: &mut Output) -> Result<Item<'a>, RenderError> {
        output.spend_bytes(name.len())?;
        Ok(match self {
            Self::Object(fields) => fields.get(name).map_or(Self::Undefined, Item::from),
            Self::Array(_) | Self::List(_) if name == "length" => Self::Number(self.count() as f64),
            Self::Array(_) | Self::List(_) => {
                index(name).map_or(Self::Undefined, |index| self.element(index))
            }
            Self::Text(text) => character(text, name, output)?,
            Self::Made(text) => character(text, name, output)?,
            Self::Merged(merged) => {
                output.spend(merged.own.len())?;
                match merged.own.iter().find(|(key, _)| *key == name) {
                    Some((_, value)) => value.clone(),
                    // Copying an array into an object does not copy its length.
                    None if name == "length" && !matches!(merged.base, Self::Object(_) | Self::Merged(_)) => {
                        Self::Undefined
                    }
                    None => merged.base.property(name, output)?,
                }
            }
            Self::Undefined
            | Self::Null
            | Self::Bool(_)
            | Self::Number(_)
            | Self::Integer(_)
            | Self::Empty => Self::Undefined,
        })
    }

    /// Returns names and values of its properties in JavaScript's order: first array indexes by number, then
    /// other names in the order of the data, which is by name.
    pub fn entries(&self, output: &mut Output) -> Result<Vec<(Item<'a>, Item<'a>)>, RenderError> {
        let mut entries = Vec::new();
        self.collect(&mut entries, output)?;
        entries.sort_by_key(|(name, _)| {
            let index = name.text().and_then(index);
            (index.is_none(), index)
        });
        Ok(entries)
    }

    fn collect(
        &self,
        entries: &mut Vec<(Item<'a>, Item<'a>)>,
        output: &mut Output,
    ) -> Result<(), RenderError> {
        match self {
            Self::Object(fields) => {
                output.spend(fields.len() * STEPS_OF_ENTRY)?;
                entries.extend(
                    fields
                        .iter()
                        .map(|(name, value)| (Self::Text(name), Item::from(value))),
                );
            }
            Self::Array(_) | Self::List(_) => {
                output.spend(self.count() * STEPS_OF_ENTRY)?;
                let names = (0..self.count()).map(|index| Self::Made(index.to_string().into()));
                entries.extend(names.zip((0..).map(|index| self.element(index))));
            }
            Self::Text(_) | Self::Made(_) => {
                let text = self.text().unwrap_or_default();
                output.spend(text.len() * STEPS_OF_ENTRY)?;
                for (index, character) in text.chars().enumerate() {
                    let value = Self::Made(character.to_string().into());
                    entries.push((Self::Made(index.to_string().into()), value));
                }
            }
            Self::Merged(merged) => {
                merged.base.collect(entries, output)?;
                for (name, value) in &merged.own {
                    output.spend(1 + entries.len())?;
                    match entries.iter_mut().find(|(key, _)| key.text() == Some(name)) {
                        Some((_, hidden)) => *hidden = value.clone(),
                        None => entries.push((Self::Text(name), value.clone())),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns whether two values have the same JavaScript type.
    pub fn is_of_same_type(&self, other: &Self) -> bool {
        let number = |item: &Self| matches!(item, Self::Number(_) | Self::Integer(_));
        (self.is_object() && other.is_object())
            || (number(self) && number(other))
            || (self.text().is_some() && other.text().is_some())
            || std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns whether two values are the same context, by the loose equality of JavaScript.
    pub fn is_same(&self, other: &Self, output: &mut Output) -> Result<bool, RenderError> {
        Ok(match (self, other) {
            (Self::Array(one), Self::Array(other)) => std::ptr::eq(*one, *other),
            (Self::Object(one), Self::Object(other)) => std::ptr::eq(*one, *other),
            (Self::List(one), Self::List(other)) => Rc::ptr_eq(one, other),
            (Self::Merged(one), Self::Merged(other)) => Rc::ptr_eq(one, other),
            (Self::Empty, Self::Empty) => true,
            _ if self.is_object() || other.is_object() => false,
            _ if self.is_nullish() || other.is_nullish() => self.is_nullish() && other.is_nullish(),
            _ => match (self.text(), other.text()) {
                (Some(one), Some(other)) => {
                    if one.len() == other.len() {
                        output.spend_bytes(one.len())?;
                    }
                    one == other
                }
                _ => self.number() == other.number(),
            },
        })
    }

    /// Converts a value that is no object as JavaScript's `Number` does.
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Integer(integer) => *integer as f64,
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::Null => 0.0,
            Self::Text(_) | Self::Made(_) => number_of_text(self.text().unwrap_or_default()),
            _ => f64::NAN,
        }
    }

    /// Writes the text of a value: nothing for `null` and `undefined`, and JSON for an object.
    pub fn print(&self, output: &mut Output) -> Result<(), RenderError> {
        match self {
            Self::Undefined | Self::Null => Ok(()),
            Self::Bool(value) => output.push(if *value { "true" } else { "false" }),
            Self::Number(number) => output.push(&number_text(*number)),
            Self::Integer(integer) => output.push(&integer.to_string()),
            Self::Text(text) => output.push(text),
            Self::Made(text) => output.push(text),
            Self::Array(_) | Self::List(_) => json::print_array(self, output),
            Self::Object(_) | Self::Merged(_) | Self::Empty => json::print(self, "", output),
        }
    }

    /// Returns the text of a value as the name of a property.
    pub fn name(&self, output: &mut Output) -> Result<String, RenderError> {
        match self {
            Self::Undefined => Ok("undefined".to_owned()),
            Self::Null => Ok("null".to_owned()),
            _ => {
                let begin = output.len();
                self.print(output)?;
                Ok(output.take_from(begin))
            }
        }
    }
}

/// Returns the length of a string, or the code unit at an index. A lone surrogate has no text and becomes
/// U+FFFD.
fn character<'a>(text: &str, name: &str, output: &mut Output) -> Result<Item<'a>, RenderError> {
    if name == "length" {
        output.spend_bytes(text.len() * STEPS_OF_ENTRY)?;
        return Ok(Item::Number(text.encode_utf16().count() as f64));
    }
    let Some(index) = index(name) else {
        return Ok(Item::Undefined);
    };
    output.spend_bytes(text.len() * STEPS_OF_ENTRY)?;
    Ok(text.encode_utf16().nth(index).map_or(Item::Undefined, |unit| {
        Item::Made(String::from_utf16_lossy(&[unit]).into())
    }))
}
