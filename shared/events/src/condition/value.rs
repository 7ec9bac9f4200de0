//! Values of conditions, with the conversions and comparisons of JavaScript.
//!
//! Texts are lists of UTF-16 code units, and numbers are doubles, because JSONLogic compares them so.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use platform::javascript::{index, number_of_text, number_text};

use super::budget::{Budget, Result, Stop};

/// Maximum nesting depth of lists that a condition makes: their texts are made by recursion.
const MAX_LIST_DEPTH: u32 = 500;

#[derive(Clone, Debug)]
pub(super) enum Value {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Arc<[u16]>),
    List(Arc<List>),
    Object(Arc<BTreeMap<String, Value>>),
}

/// A list is equal to itself alone.
#[derive(Debug)]
pub(super) struct List {
    pub(super) items: Vec<Value>,
    /// Nesting depth; 1 for a list without lists.
    depth: u32,
}

impl Value {
    pub fn text(text: &str) -> Self {
        Self::Text(text.encode_utf16().collect())
    }

    /// Returns a list of the event.
    pub fn whole_list(items: Vec<Self>) -> Self {
        let depths = items.iter().map(|item| match item {
            Self::List(list) => list.depth,
            _ => 0,
        });
        let depth = depths.max().unwrap_or_default() + 1;
        Self::List(Arc::new(List { items, depth }))
    }

    pub fn list(items: Vec<Self>, budget: &mut Budget) -> Result<Self> {
        budget.spend_items(items.len())?;
        match Self::whole_list(items) {
            Self::List(list) if list.depth > MAX_LIST_DEPTH => Err(Stop::Failed(format!(
                "it makes lists within lists, more than {MAX_LIST_DEPTH} deep"
            ))),
            list => Ok(list),
        }
    }

    pub fn object(fields: BTreeMap<String, Self>) -> Self {
        Self::Object(Arc::new(fields))
    }

    pub fn is_nullish(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    fn is_object(&self) -> bool {
        matches!(self, Self::List(_) | Self::Object(_))
    }

    /// Returns whether a value counts as true in JSONLogic: as in JavaScript, but for the empty list.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Object(_) => true,
        }
    }

    /// Converts a list or object to the text that JavaScript compares and calculates with.
    fn primitive(&self, budget: &mut Budget) -> Result<Cow<'_, Self>> {
        Ok(match self {
            Self::List(_) | Self::Object(_) => Cow::Owned(Self::Text(self.units(budget)?)),
            other => Cow::Borrowed(other),
        })
    }

    pub fn number(&self, budget: &mut Budget) -> Result<f64> {
        Ok(match self {
            Self::Undefined => f64::NAN,
            Self::Null => 0.0,
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::Number(number) => *number,
            Self::Text(_) | Self::List(_) | Self::Object(_) => {
                let units = self.units(budget)?;
                budget.spend_units(units.len())?;
                number_of_text(&String::from_utf16_lossy(&units))
            }
        })
    }

    /// Converts to text as `String` does.
    pub fn units(&self, budget: &mut Budget) -> Result<Arc<[u16]>> {
        if let Self::Text(units) = self {
            return Ok(Arc::clone(units));
        }
        let mut units = Vec::new();
        self.write(&mut units, budget)?;
        Ok(units.into())
    }

    fn write(&self, out: &mut Vec<u16>, budget: &mut Budget) -> Result<()> {
        let start = out.len();
        match self {
            Self::Undefined => out.extend("undefined".encode_utf16()),
            Self::Null => out.extend("null".encode_utf16()),
            Self::Bool(value) => out.extend(value.to_string().encode_utf16()),
            Self::Number(number) => out.extend(number_text(*number).encode_utf16()),
            Self::Text(units) => {
                budget.spend_units(units.len())?;
                out.extend_from_slice(units);
                return Ok(());
            }
            Self::List(list) => return join(&list.items, ",", out, budget),
            Self::Object(_) => out.extend("[object Object]".encode_utf16()),
        }
        budget.spend_units(out.len() - start)
    }

    /// `===`
    pub fn is_identical(&self, other: &Self, budget: &mut Budget) -> Result<bool> {
        Ok(match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::Text(one), Self::Text(other)) if one.len() == other.len() => {
                budget.spend_units(one.len())?;
                one == other
            }
            (Self::List(one), Self::List(other)) => Arc::ptr_eq(one, other),
            (Self::Object(one), Self::Object(other)) => Arc::ptr_eq(one, other),
            _ => false,
        })
    }

    /// `==`
    pub fn is_equal(&self, other: &Self, budget: &mut Budget) -> Result<bool> {
        if self.is_nullish() || other.is_nullish() {
            return Ok(self.is_nullish() && other.is_nullish());
        }
        match (self, other) {
            (Self::Text(_), Self::Text(_)) => self.is_identical(other, budget),
            _ if self.is_object() && other.is_object() => self.is_identical(other, budget),
            (Self::Bool(_) | Self::Number(_), _) | (_, Self::Bool(_) | Self::Number(_)) => {
                Ok(self.number(budget)? == other.number(budget)?)
            }
            _ => {
                let (one, other) = (self.primitive(budget)?, other.primitive(budget)?);
                one.is_identical(&other, budget)
            }
        }
    }

    /// Orders two values as `<` and `>` do; None where neither holds and they are not equal.
    pub fn compare(&self, other: &Self, budget: &mut Budget) -> Result<Option<Ordering>> {
        let (one, other) = (self.primitive(budget)?, other.primitive(budget)?);
        if let (Self::Text(one), Self::Text(other)) = (&*one, &*other) {
            budget.spend_units(one.len().min(other.len()))?;
            return Ok(Some(one.cmp(other)));
        }
        Ok(one.number(budget)?.partial_cmp(&other.number(budget)?))
    }

    /// `+` of JavaScript, as a number.
    pub fn plus(&self, number: f64, budget: &mut Budget) -> Result<f64> {
        match &*self.primitive(budget)? {
            Self::Text(text) => {
                let mut sum: Vec<u16> = number_text(number).encode_utf16().collect();
                sum.extend_from_slice(text);
                Self::Text(sum.into()).number(budget)
            }
            other => Ok(number + other.number(budget)?),
        }
    }

    /// Returns a property, without those that JavaScript's prototypes add; None where it is undefined.
    pub fn property(&self, name: &str, budget: &mut Budget) -> Result<Option<Cow<'_, Self>>> {
        budget.spend_units(name.len())?;
        let length = |length: usize| Some(Cow::Owned(Self::Number(length as f64)));
        Ok(match self {
            Self::Object(fields) => fields.get(name).map(Cow::Borrowed),
            Self::List(list) if name == "length" => length(list.items.len()),
            Self::Text(units) if name == "length" => length(units.len()),
            Self::List(list) => index(name)
                .and_then(|index| list.items.get(index))
                .map(Cow::Borrowed),
            Self::Text(units) => index(name)
                .and_then(|index| units.get(index))
                .map(|unit| Cow::Owned(Self::Text([*unit].into()))),
            _ => None,
        })
    }
}

/// Writes values as `Array.prototype.join` does.
pub(super) fn join<'v>(
    items: impl IntoIterator<Item = &'v Value>,
    separator: &str,
    out: &mut Vec<u16>,
    budget: &mut Budget,
) -> Result<()> {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.extend(separator.encode_utf16());
        }
        budget.spend(1)?;
        if !item.is_nullish() {
            item.write(out, budget)?;
        }
    }
    Ok(())
}
