//! Carries out the functions of the language, and calls of functions that templates write.

use super::evaluate::{Renderer, Result};
use super::functions::{Global, Method};
use super::tree::{Arguments, Element, Expression, Function, Pattern};
use crate::error::{Place, RenderError};
use crate::json;
use crate::limits::MAX_OUTPUT_BYTES;
use crate::value::Item;

/// Longest indent of JSON, in characters; JavaScript's own limit.
const MAX_INDENT: usize = 10;

impl<'a> Renderer<'a> {
    pub fn call_method(
        &mut self,
        place: Place,
        owner: &Item<'a>,
        method: Method,
        arguments: &'a Arguments,
    ) -> Result<Item<'a>> {
        let values = self.elements(&arguments.values)?;
        if method == Method::ToString {
            return self.text(&[owner]);
        }
        let result = if let Some(text) = owner.text() {
            self.text_method(place, text, method, &values)?
        } else if owner.is_array() {
            self.array_method(place, owner, method, arguments, &values)?
        } else if method == Method::ToFixed && matches!(owner, Item::Number(_) | Item::Integer(_)) {
            Some(self.fixed_digits(place, owner, values.first())?)
        } else {
            None
        };
        result.ok_or_else(|| {
            let reason = format!("{} has no function '{}'", kind_of(owner), method.name());
            RenderError::data(place, reason)
        })
    }

    pub fn call_global(
        &mut self,
        place: Place,
        function: Global,
        arguments: &'a Arguments,
    ) -> Result<Item<'a>> {
        if function == Global::Stringify {
            return self.stringify(place, &arguments.values);
        }
        let values = self.elements(&arguments.values)?;
        let first = values.first().cloned().unwrap_or(Item::Undefined);
        Ok(match function {
            Global::Max | Global::Min => {
                let mut result = if function == Global::Max {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                };
                for value in values {
                    let number = self.primitive(value)?.number();
                    let is_further = match function {
                        Global::Max => number > result,
                        _ => number < result,
                    };
                    if number.is_nan() || is_further {
                        result = number;
                    }
                    if result.is_nan() {
                        break;
                    }
                }
                Item::Number(result)
            }
            Global::Keys | Global::Values | Global::Entries => self.of_object(place, function, &first)?,
            Global::IsArray => Item::Bool(first.is_array()),
            _ => self.convert(function, first)?,
        })
    }

    /// Carries out a function of one value.
    fn convert(&mut self, function: Global, value: Item<'a>) -> Result<Item<'a>> {
        Ok(match function {
            Global::Boolean => Item::Bool(value.is_true()),
            Global::String if matches!(value, Item::Undefined) => Item::Text("undefined"),
            Global::String => self.text(&[&value])?,
            Global::Number if matches!(value, Item::Undefined) => Item::Number(f64::NAN),
            // An integer of the data that a number would round stays what it is.
            Global::Number if matches!(value, Item::Integer(_)) => value,
            _ => {
                let number = self.primitive(value)?.number();
                Item::Number(match function {
                    Global::Abs => number.abs(),
                    Global::Ceil => number.ceil(),
                    Global::Floor => number.floor(),
                    Global::Trunc => number.trunc(),
                    // Halves are rounded up, also negative ones.
                    Global::Round if number.fract().abs() == 0.5 => number.floor() + 1.0,
                    Global::Round => number.round(),
                    _ => number,
                })
            }
        })
    }

    fn of_object(&mut self, place: Place, function: Global, value: &Item<'a>) -> Result<Item<'a>> {
        if value.is_nullish() {
            let reason = "the keys, values or entries of null are taken";
            return Err(RenderError::data(place, reason));
        }
        let entries = value.entries(&mut self.output)?;
        let parts = entries.into_iter().map(|(name, value)| match function {
            Global::Keys => name,
            Global::Values => value,
            _ => Item::List([name, value].into()),
        });
        Ok(Item::List(parts.collect()))
    }

    fn stringify(&mut self, place: Place, arguments: &'a [Element]) -> Result<Item<'a>> {
        let mut arguments = arguments.iter().map(|argument| &argument.value);
        let Some(value) = arguments.next() else {
            return Ok(Item::Undefined);
        };
        let value = self.required(value)?;
        if let Some(replacer) = arguments.next()
            && !self.value(replacer)?.is_nullish()
        {
            let reason = "the second argument of JSON.stringify is not null";
            return Err(RenderError::data(place, reason));
        }
        let indent = match arguments.next().map(|indent| self.value(indent)).transpose()? {
            Some(Item::Number(count)) => " ".repeat((count.max(0.0) as usize).min(MAX_INDENT)),
            Some(text) => text
                .text()
                .map_or(String::new(), |text| text.chars().take(MAX_INDENT).collect()),
            None => String::new(),
        };
        let begin = self.output.len();
        json::print(&value, &indent, &mut self.output)?;
        Ok(Item::Made(self.output.take_from(begin).into()))
    }

    /// Returns the values of elements or arguments; fails where one is missing.
    pub fn elements(&mut self, elements: &'a [Element]) -> Result<Vec<Item<'a>>> {
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            let value = self.required(&element.value)?;
            if !element.is_spread {
                values.push(value);
                continue;
            }
            if !value.is_array() {
                let reason = format!("{} is spread by '...', which takes an array", kind_of(&value));
                return Err(RenderError::data(element.value.place, reason));
            }
            self.output.spend(value.count())?;
            values.extend((0..value.count()).map(|index| value.element(index)));
        }
        Ok(values)
    }

    /// Calls a function with values; those beyond its parameters are left out.
    pub fn invoke(&mut self, place: Place, function: &'a Function, given: &[Item<'a>]) -> Result<Item<'a>> {
        let (patterns, body): (&[Pattern], &'a Expression) = match function {
            Function::Global(global) => {
                let first = given.first().cloned().unwrap_or(Item::Undefined);
                return self.convert(*global, first);
            }
            Function::Arrow(patterns, body) => (patterns, body),
        };
        let outer = self.locals.len();
        for (index, pattern) in patterns.iter().enumerate() {
            let value = given.get(index).cloned().unwrap_or(Item::Undefined);
            self.output.spend(1)?;
            match pattern {
                Pattern::Name => self.locals.push(value),
                Pattern::Elements(count) if value.is_array() => {
                    self.locals.extend((0..*count).map(|index| value.element(index)));
                }
                Pattern::Properties(names) if !value.is_nullish() => {
                    for name in names {
                        let property = value.property(name, &mut self.output)?;
                        self.locals.push(property);
                    }
                }
                Pattern::Elements(_) | Pattern::Properties(_) => {
                    let reason = format!("{} has no parts that parameters take", kind_of(&value));
                    return Err(RenderError::data(place, reason));
                }
            }
        }
        let result = self.value(body)?;
        self.locals.truncate(outer);
        Ok(result)
    }

    /// Returns a computed text, within the limits of the output.
    pub fn computed(&mut self, text: String) -> Result<Item<'a>> {
        self.output.spend_bytes(text.len())?;
        match text.len() > MAX_OUTPUT_BYTES {
            true => Err(too_long()),
            false => Ok(Item::Made(text.into())),
        }
    }

    /// Returns an argument as text.
    pub fn argument_text(&mut self, values: &[Item<'a>], index: usize) -> Result<Option<Item<'a>>> {
        match values.get(index) {
            None => Ok(None),
            Some(value) if value.text().is_some() => Ok(Some(value.clone())),
            Some(value) => self.text(&[value]).map(Some),
        }
    }

    /// Returns an argument as a whole number, as JavaScript does.
    pub fn argument_integer(&mut self, values: &[Item<'a>], index: usize) -> Result<Option<f64>> {
        let Some(value) = values.get(index) else {
            return Ok(None);
        };
        let number = self.primitive(value.clone())?.number();
        Ok(Some(if number.is_nan() { 0.0 } else { number.trunc() }))
    }
}

pub fn too_long() -> RenderError {
    RenderError::limit(format!("a text within it has more than {MAX_OUTPUT_BYTES} bytes"))
}

/// Returns the index that an argument means: from the end where it is negative, and within the length.
pub fn relative(index: f64, length: usize) -> usize {
    let from_start = if index < 0.0 { index + length as f64 } else { index };
    from_start.clamp(0.0, length as f64) as usize
}

pub fn kind_of(item: &Item<'_>) -> &'static str {
    match item {
        Item::Undefined => "a missing value",
        Item::Null => "null",
        Item::Bool(_) => "a value that is true or false",
        Item::Number(_) | Item::Integer(_) => "a number",
        Item::Text(_) | Item::Made(_) => "a text",
        Item::Array(_) | Item::List(_) => "an array",
        Item::Object(_) | Item::Merged(_) | Item::Empty => "an object",
    }
}
