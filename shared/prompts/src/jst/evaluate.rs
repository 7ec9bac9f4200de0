//! Renders a template literal over data. A missing value is an error with its name, where JavaScript would
//! write `undefined`; `??`, `||`, `&&`, `!`, `a ? b : c` and comparisons for equality accept a missing value.

use std::rc::Rc;

use serde_json::Value;

use super::tree::{Element, Expression, Kind, Operator, Part, Template};
use crate::error::RenderError;
use crate::output::Output;
use crate::value::{Item, Merged};

pub type Result<T> = std::result::Result<T, RenderError>;

pub fn render(template: &Template, data: &Value) -> Result<String> {
    let mut renderer = Renderer {
        data: Item::from(data),
        output: Output::new(),
        locals: Vec::new(),
    };
    renderer.template(template)?;
    Ok(renderer.output.into_text())
}

pub struct Renderer<'a> {
    data: Item<'a>,
    pub output: Output,
    /// Parameters of the running functions, the outermost first.
    pub locals: Vec<Item<'a>>,
}

impl<'a> Renderer<'a> {
    fn template(&mut self, template: &'a Template) -> Result<()> {
        for part in &template.parts {
            match part {
                Part::Text(text) => self.output.push(text)?,
                Part::Expression(expression) => {
                    let value = self.required(expression)?;
                    self.print(&value)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the text of a value, as JavaScript's `String` does.
    fn print(&mut self, value: &Item<'a>) -> Result<()> {
        match value {
            Item::Null => self.output.push("null"),
            value => value.print(&mut self.output),
        }
    }

    /// Returns the joined text of values, within the limits of the output.
    pub fn text(&mut self, values: &[&Item<'a>]) -> Result<Item<'a>> {
        let begin = self.output.len();
        for value in values {
            self.print(value)?;
        }
        Ok(Item::Made(self.output.take_from(begin).into()))
    }

    /// Returns the value of an expression; fails where it is missing.
    pub fn required(&mut self, expression: &'a Expression) -> Result<Item<'a>> {
        match self.value(expression)? {
            Item::Undefined => {
                let reason = match name(expression) {
                    Some(name) if matches!(expression.kind, Kind::Local(..)) => {
                        format!("'{name}' has no value")
                    }
                    Some(name) => format!("the data has no '{name}'"),
                    None => "an expression has no value, because the data lacks it".to_owned(),
                };
                Err(RenderError::data(expression.place, reason))
            }
            value => Ok(value),
        }
    }

    pub fn value(&mut self, expression: &'a Expression) -> Result<Item<'a>> {
        self.output.spend(1)?;
        Ok(match &expression.kind {
            Kind::Undefined => Item::Undefined,
            Kind::Null => Item::Null,
            Kind::Bool(value) => Item::Bool(*value),
            Kind::Number(number) => Item::Number(*number),
            Kind::Text(text) => Item::Text(text),
            Kind::Variable(name) => match &self.data {
                data @ Item::Object(_) => data.property(name, &mut self.output)?,
                _ => Item::Undefined,
            },
            Kind::Template(template) => {
                let begin = self.output.len();
                self.template(template)?;
                Item::Made(self.output.take_from(begin).into())
            }
            Kind::Local(slot, _) => self.locals.get(*slot).cloned().unwrap_or(Item::Undefined),
            Kind::Array(elements) => self.array(elements)?,
            Kind::Object(fields) => self.object(fields)?,
            Kind::Global(function, arguments) => self.call_global(expression.place, *function, arguments)?,
            Kind::TypeOf(operand) => self.type_of(operand)?,
            Kind::Group(inside) => self.value(inside)?,
            Kind::Member(..) | Kind::Index(..) | Kind::Method(..) => {
                self.chain(expression)?.unwrap_or(Item::Undefined)
            }
            Kind::Not(operand) => Item::Bool(!self.value(operand)?.is_true()),
            Kind::Minus(operand) => Item::Number(-self.number(operand)?),
            Kind::Plus(operand) => Item::Number(self.number(operand)?),
            Kind::Choice(condition, first, second) => match self.value(condition)?.is_true() {
                true => self.value(first)?,
                false => self.value(second)?,
            },
            Kind::Binary(operator, left, right) => self.binary(*operator, left, right)?,
        })
    }

    /// Returns a property; `None` where a `?.` in the path finds no object, which ends the whole path.
    fn chain(&mut self, expression: &'a Expression) -> Result<Option<Item<'a>>> {
        let (object, is_optional) = match &expression.kind {
            Kind::Member(object, _, is_optional)
            | Kind::Index(object, _, is_optional)
            | Kind::Method(object, _, _, is_optional) => (object, *is_optional),
            _ => return self.value(expression).map(Some),
        };
        let Some(owner) = self.chain(object)? else {
            return Ok(None);
        };
        if owner.is_nullish() {
            if is_optional {
                return Ok(None);
            }
            let reason = match name(object) {
                Some(name) => format!("the data has no '{name}', of which a property is read"),
                None => "a property is read of what has no value".to_owned(),
            };
            return Err(RenderError::data(expression.place, reason));
        }
        match &expression.kind {
            Kind::Method(_, method, arguments, _) => self
                .call_method(expression.place, &owner, *method, arguments)
                .map(Some),
            Kind::Member(_, name, _) => owner.property(name, &mut self.output).map(Some),
            Kind::Index(_, index, _) => {
                let name = self.required(index)?.name(&mut self.output)?;
                owner.property(&name, &mut self.output).map(Some)
            }
            _ => Ok(Some(owner)),
        }
    }

    fn array(&mut self, elements: &'a [Element]) -> Result<Item<'a>> {
        let elements = self.elements(elements)?;
        Ok(Item::List(elements.into()))
    }

    fn type_of(&mut self, operand: &'a Expression) -> Result<Item<'a>> {
        Ok(Item::Text(match self.value(operand)? {
            Item::Undefined => "undefined",
            Item::Bool(_) => "boolean",
            Item::Number(_) | Item::Integer(_) => "number",
            Item::Text(_) | Item::Made(_) => "string",
            _ => "object",
        }))
    }

    fn object(&mut self, fields: &'a [(String, Expression)]) -> Result<Item<'a>> {
        let mut own = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            own.push((name.as_str(), self.value(value)?));
        }
        Ok(Item::Merged(Rc::new(Merged {
            base: Item::Empty,
            own,
        })))
    }

    fn number(&mut self, expression: &'a Expression) -> Result<f64> {
        let value = self.required(expression)?;
        Ok(self.primitive(value)?.number())
    }

    /// Returns the value itself, or the text of an object.
    pub fn primitive(&mut self, value: Item<'a>) -> Result<Item<'a>> {
        match value.is_object() {
            true => self.text(&[&value]),
            false => Ok(value),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: &'a Expression,
        right: &'a Expression,
    ) -> Result<Item<'a>> {
        match operator {
            Operator::And | Operator::Or | Operator::Coalesce => {
                let value = self.value(left)?;
                let takes_right = match operator {
                    Operator::And => value.is_true(),
                    Operator::Or => !value.is_true(),
                    _ => value.is_nullish(),
                };
                if takes_right { self.value(right) } else { Ok(value) }
            }
            Operator::Equal | Operator::NotEqual => {
                let (mut one, mut other) = (self.value(left)?, self.value(right)?);
                if one.is_object() != other.is_object() && !one.is_nullish() && !other.is_nullish() {
                    (one, other) = (self.primitive(one)?, self.primitive(other)?);
                }
                let is_equal = one.is_same(&other, &mut self.output)?;
                Ok(Item::Bool(is_equal == (operator == Operator::Equal)))
            }
            Operator::StrictlyEqual | Operator::StrictlyNotEqual => {
                let (one, other) = (self.value(left)?, self.value(right)?);
                let is_equal = one.is_of_same_type(&other) && one.is_same(&other, &mut self.output)?;
                Ok(Item::Bool(is_equal == (operator == Operator::StrictlyEqual)))
            }
            Operator::Add => {
                let (one, other) = (self.required(left)?, self.required(right)?);
                let (one, other) = (self.primitive(one)?, self.primitive(other)?);
                match one.text().is_some() || other.text().is_some() {
                    true => self.text(&[&one, &other]),
                    false => Ok(Item::Number(one.number() + other.number())),
                }
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                let (one, other) = (self.required(left)?, self.required(right)?);
                let (one, other) = (self.primitive(one)?, self.primitive(other)?);
                let ordering = match (one.text(), other.text()) {
                    (Some(one), Some(other)) => {
                        // Comparing code units takes longer than copying bytes.
                        self.output.spend_bytes(4 * one.len().min(other.len()))?;
                        Some(one.encode_utf16().cmp(other.encode_utf16()))
                    }
                    _ => one.number().partial_cmp(&other.number()),
                };
                Ok(Item::Bool(ordering.is_some_and(|ordering| match operator {
                    Operator::Less => ordering.is_lt(),
                    Operator::LessOrEqual => ordering.is_le(),
                    Operator::Greater => ordering.is_gt(),
                    _ => ordering.is_ge(),
                })))
            }
            Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                let (one, other) = (self.number(left)?, self.number(right)?);
                Ok(Item::Number(match operator {
                    Operator::Subtract => one - other,
                    Operator::Multiply => one * other,
                    Operator::Divide => one / other,
                    _ => one % other,
                }))
            }
        }
    }
}

/// Returns a path as written in the template, without the content of brackets.
fn name(expression: &Expression) -> Option<String> {
    match &expression.kind {
        Kind::Variable(name) | Kind::Local(_, name) => Some(name.clone()),
        Kind::Member(object, member, _) => Some(format!("{}.{member}", name(object)?)),
        Kind::Index(object, index, _) => Some(match &index.kind {
            Kind::Number(number) => format!("{}[{number}]", name(object)?),
            Kind::Text(text) => format!("{}[\"{text}\"]", name(object)?),
            _ => format!("{}[…]", name(object)?),
        }),
        Kind::Group(inside) => name(inside),
        Kind::Binary(Operator::And | Operator::Or | Operator::Coalesce, _, last) => name(last),
        _ => None,
    }
}
