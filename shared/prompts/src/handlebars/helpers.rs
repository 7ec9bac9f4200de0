//! Implements the built-in helpers: `each`, `if`, `unless`, `with`, `lookup` and `log`. There are no other
//! helpers, so none has access to anything outside the data.

use std::rc::Rc;

use super::faults::{BLOCK_HELPER, LOOKUP_ARGUMENTS, ONE_VALUE, no_helper, reserved_helper};
use super::render::Renderer;
use super::scope::{Closure, Frame, Scope};
use super::tree::{Call, Expression, Helper};
use crate::error::RenderError;
use crate::value::Item;

/// Branches of a block; `None` for a call that is no block.
pub type Branches<'a, 'b> = Option<(Option<&'b Closure<'a>>, Option<&'b Closure<'a>>)>;

impl<'a> Renderer<'a> {
    /// Returns the result of a helper; a block is written to the output instead.
    pub fn call(
        &mut self,
        call: &'a Call,
        scope: &Scope<'a>,
        branches: Branches<'a, '_>,
    ) -> Result<Item<'a>, RenderError> {
        let mut params = Vec::with_capacity(call.params.len());
        for param in &call.params {
            params.push(self.value(param, scope)?);
        }
        let mut hash: Vec<(&'a str, Item<'a>)> = Vec::with_capacity(call.hash.len());
        for (name, value) in &call.hash {
            hash.push((name, self.value(value, scope)?));
        }
        match &call.helper {
            Helper::Log => return Ok(Item::Undefined),
            Helper::Lookup => return self.lookup(call, &params),
            Helper::Unknown(path) => {
                // A value of the data is no function, so calling it is an error, as in the reference.
                let is_value = scope.value(path, &mut self.output)?.is_true();
                if params.is_empty() && !is_value {
                    return Ok(Item::Undefined);
                }
                return Err(no_helper(call, path));
            }
            Helper::Reserved(name) => {
                return Err(reserved_helper(call, name));
            }
            Helper::Each | Helper::If | Helper::Unless | Helper::With => {}
        }
        let Some((program, inverse)) = branches else {
            return Err(RenderError::template(call.place, BLOCK_HELPER));
        };
        let [subject] = params.as_slice() else {
            return Err(RenderError::template(call.place, ONE_VALUE));
        };
        match &call.helper {
            Helper::Each => self.each(subject, scope, program, inverse)?,
            Helper::With => match is_empty(subject) {
                true => self.branch(inverse, scope.this())?,
                false => {
                    if let Some(program) = program {
                        self.run(program, subject.clone(), None, Some(vec![subject.clone()]))?;
                    }
                }
            },
            helper => {
                let includes_zero = find(&hash, "includeZero").is_true();
                let is_false = (!includes_zero && !subject.is_true()) || is_empty(subject);
                let is_first = is_false == matches!(helper, Helper::Unless);
                self.branch(if is_first { program } else { inverse }, scope.this())?;
            }
        }
        Ok(Item::Undefined)
    }

    fn lookup(&mut self, call: &Call, params: &[Item<'a>]) -> Result<Item<'a>, RenderError> {
        match params {
            [object, ..] if !object.is_true() => Ok(object.clone()),
            [object, name] => {
                let name = name.name(&mut self.output)?;
                object.property(&name, &mut self.output)
            }
            _ => Err(RenderError::template(call.place, LOOKUP_ARGUMENTS)),
        }
    }

    /// Runs a block once per element or property.
    pub fn each(
        &mut self,
        value: &Item<'a>,
        scope: &Scope<'a>,
        program: Option<&Closure<'a>>,
        inverse: Option<&Closure<'a>>,
    ) -> Result<(), RenderError> {
        let outer = Frame::within(&scope.frame);
        let mut number = 0;
        match value {
            Item::Array(items) => {
                for item in *items {
                    let key = Item::Number(number as f64);
                    let is_last = number + 1 == items.len();
                    self.iteration(program, &outer, (number, is_last), key, Item::from(item))?;
                    number += 1;
                }
            }
            Item::Object(_) | Item::Merged(_) => {
                let entries = value.entries(&mut self.output)?;
                let count = entries.len();
                for (key, item) in entries {
                    self.iteration(program, &outer, (number, number + 1 == count), key, item)?;
                    number += 1;
                }
            }
            _ => {}
        }
        match number {
            0 => self.branch(inverse, scope.this()),
            _ => Ok(()),
        }
    }

    fn iteration(
        &mut self,
        program: Option<&Closure<'a>>,
        outer: &Frame<'a>,
        (number, is_last): (usize, bool),
        key: Item<'a>,
        item: Item<'a>,
    ) -> Result<(), RenderError> {
        self.output.spend(1)?;
        let Some(program) = program else {
            return Ok(());
        };
        let frame = Frame {
            key: key.clone(),
            index: Item::Number(number as f64),
            first: Item::Bool(number == 0),
            last: Item::Bool(is_last),
            ..outer.clone()
        };
        self.run(program, item.clone(), Some(Rc::new(frame)), Some(vec![item, key]))
    }

    /// Evaluates the arguments `key=value`.
    pub fn hash(
        &mut self,
        hash: &'a [(String, Expression)],
        scope: &Scope<'a>,
    ) -> Result<Vec<(&'a str, Item<'a>)>, RenderError> {
        let mut values = Vec::with_capacity(hash.len());
        for (name, value) in hash {
            values.push((name.as_str(), self.value(value, scope)?));
        }
        Ok(values)
    }
}

/// Returns the first value of a name, as in the reference.
fn find<'a>(hash: &[(&str, Item<'a>)], name: &str) -> Item<'a> {
    let found = hash.iter().find(|(key, _)| *key == name);
    found.map_or(Item::Undefined, |(_, value)| value.clone())
}

/// Returns whether a value counts as empty for `if` and `with`; zero does not.
fn is_empty(value: &Item<'_>) -> bool {
    match value {
        Item::Array(items) => items.is_empty(),
        Item::Number(number) => number.is_nan(),
        value => !value.is_true(),
    }
}
