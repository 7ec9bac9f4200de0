//! Reads the text of a definition, in JSON or YAML, as a tree.
//!
//! The tree keeps the order of fields and the text of numbers.

mod json;
mod yaml;

use std::collections::HashMap;

use serde_json::Value;

use crate::fault::Fault;
use crate::limits::MAX_TEXT_BYTES;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    /// Number in JSON form.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// Reason why a text is refused.
enum Refusal {
    /// The text does not have the format's syntax.
    Syntax(Fault),
    /// The syntax is correct, but a rule refuses the text.
    Rule(Fault),
}

impl Refusal {
    fn into_fault(self) -> Fault {
        match self {
            Self::Syntax(fault) | Self::Rule(fault) => fault,
        }
    }
}

/// Reads the text of a definition: JSON if possible, otherwise YAML.
pub(crate) fn read(text: &str) -> Result<Tree, Fault> {
    bounded(text)?;
    if !text.trim_start().starts_with('{') {
        return yaml::read(text).map_err(Refusal::into_fault);
    }
    let json = match json::read(text) {
        Err(Refusal::Syntax(fault)) => fault,
        done => return done.map_err(Refusal::into_fault),
    };
    // YAML also has objects in braces. If the text is neither, the fault of the JSON is more likely the
    // relevant one.
    yaml::read(text).map_err(|refusal| match refusal {
        Refusal::Syntax(_) => json,
        Refusal::Rule(fault) => fault,
    })
}

/// As [`read`], for a JSON value of any depth.
pub(crate) fn read_value(value: &Value) -> Result<Tree, Fault> {
    let text = value.to_string();
    bounded(&text)?;
    json::read(&text).map_err(Refusal::into_fault)
}

/// Reads YAML of any size; the caller must limit it.
pub(crate) fn read_yaml(text: &str) -> Result<Tree, Fault> {
    yaml::read(text).map_err(Refusal::into_fault)
}

fn bounded(text: &str) -> Result<(), Fault> {
    if text.len() <= MAX_TEXT_BYTES {
        return Ok(());
    }
    Err(fault(format!(
        "The definition has {} bytes; at most {MAX_TEXT_BYTES} are taken.",
        text.len()
    )))
}

fn fault(message: String) -> Fault {
    Fault {
        pointer: String::new(),
        message,
    }
}

impl Tree {
    /// Reads data whose depth is limited.
    pub fn of_json(json: &str) -> Self {
        json::read_data(json).unwrap_or(Self::Null)
    }

    /// Returns the kind of value, with its article.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number),
            Self::Text(text) => out.push_str(&quoted(text)),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(name));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    pub fn merged(self, over: Self) -> Self {
        let (Self::Object(mut fields), Self::Object(others)) = (self, over.clone()) else {
            return over;
        };
        for (name, value) in others {
            match fields.iter_mut().find(|(other, _)| *other == name) {
                Some((_, field)) => *field = std::mem::replace(field, Self::Null).merged(value),
                None => fields.push((name, value)),
            }
        }
        Self::Object(fields)
    }

    /// Returns the first number that is beyond the range of a double.
    pub fn number_beyond_double(&self) -> Option<&str> {
        match self {
            Self::Number(number) => Some(number.as_str()).filter(|number| is_beyond_double(number)),
            Self::List(items) => items.iter().find_map(Self::number_beyond_double),
            Self::Object(fields) => fields.iter().find_map(|(_, value)| value.number_beyond_double()),
            Self::Null | Self::Bool(_) | Self::Text(_) => None,
        }
    }

    /// Compares as JSON.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => same_number(one, other),
            (Self::List(one), Self::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.same(other))
            }
            (Self::Object(one), Self::Object(other)) => {
                one.len() == other.len() && {
                    let other: HashMap<&str, &Self> =
                        other.iter().map(|(name, value)| (name.as_str(), value)).collect();
                    let is_in = |(name, value): &(String, Self)| {
                        other.get(name.as_str()).is_some_and(|other| value.same(other))
                    };
                    one.iter().all(is_in)
                }
            }
            (one, other) => one == other,
        }
    }
}

/// Quotes a text as JSON does.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether a JSON number is beyond the range of a double, so that readers make infinity or nothing of it.
pub(crate) fn is_beyond_double(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(f64::is_infinite)
}

/// Number of digits that a double always represents exactly.
const EXACT_DIGITS: usize = 15;

fn same_number(one: &str, other: &str) -> bool {
    let is_exact = |number: &str| number.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS;
    let (Ok(left), Ok(right)) = (one.parse::<f64>(), other.parse::<f64>()) else {
        return one == other;
    };
    one == other || (left.total_cmp(&right).is_eq() && is_exact(one) && is_exact(other))
}

fn twice(at: &crate::fault::Place, name: &str) -> Fault {
    Fault {
        pointer: at.field(name).pointer().to_owned(),
        message: format!("The field '{name}' occurs twice; remove one."),
    }
}
