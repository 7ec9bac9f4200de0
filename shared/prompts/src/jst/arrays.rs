//! Carries out the functions of arrays.

use super::calls::relative;
use super::evaluate::{Renderer, Result};
use super::functions::Method;
use super::tree::{Arguments, Function};
use crate::error::{Place, RenderError};
use crate::json;
use crate::value::Item;

impl<'a> Renderer<'a> {
    /// Returns the result of a function of an array; None where arrays have no such function.
    pub fn array_method(
        &mut self,
        place: Place,
        array: &Item<'a>,
        method: Method,
        arguments: &'a Arguments,
        values: &[Item<'a>],
    ) -> Result<Option<Item<'a>>> {
        if let Some(function) = arguments.function.as_deref() {
            return match method {
                Method::Reduce => self
                    .reduce(place, array, function, values.first().cloned())
                    .map(Some),
                _ => self.each(place, array, method, function).map(Some),
            };
        }
        let count = array.count();
        Ok(Some(match method {
            Method::At => {
                let index = self.argument_integer(values, 0)?.unwrap_or(0.0);
                let index = if index < 0.0 { index + count as f64 } else { index };
                match index >= 0.0 && index < count as f64 {
                    true => array.element(index as usize),
                    false => Item::Undefined,
                }
            }
            Method::Concat => {
                let mut elements = self.copied(array, 0..count)?;
                for value in values {
                    match value.is_array() {
                        true => elements.extend(self.copied(value, 0..value.count())?),
                        false => elements.push(value.clone()),
                    }
                }
                Item::List(elements.into())
            }
            Method::Includes => Item::Bool(self.index_of(array, values, true)?.is_some()),
            Method::IndexOf => {
                let index = self.index_of(array, values, false)?;
                Item::Number(index.map_or(-1.0, |index| index as f64))
            }
            Method::Join => {
                let separator = self.argument_text(values, 0)?;
                let separator = separator.as_ref().and_then(Item::text).unwrap_or(",");
                let begin = self.output.len();
                json::print_joined(array, separator, &mut self.output)?;
                Item::Made(self.output.take_from(begin).into())
            }
            Method::Slice => {
                let begin = self.argument_integer(values, 0)?.unwrap_or(0.0);
                let end = self.argument_integer(values, 1)?.unwrap_or(count as f64);
                let (begin, end) = (relative(begin, count), relative(end, count));
                let elements = self.copied(array, begin..end)?;
                Item::List(elements.into())
            }
            _ => return Ok(None),
        }))
    }

    fn copied(&mut self, array: &Item<'a>, range: std::ops::Range<usize>) -> Result<Vec<Item<'a>>> {
        self.output.spend(range.len())?;
        Ok(range.map(|index| array.element(index)).collect())
    }

    /// Returns where a value is; `includes` finds also what is not a number.
    fn index_of(&mut self, array: &Item<'a>, values: &[Item<'a>], finds_nan: bool) -> Result<Option<usize>> {
        let wanted = values.first().cloned().unwrap_or(Item::Undefined);
        let is_nan = |item: &Item<'a>| matches!(item, Item::Number(number) if number.is_nan());
        for index in 0..array.count() {
            self.output.spend(1)?;
            let element = array.element(index);
            let is_equal = element.is_of_same_type(&wanted) && element.is_same(&wanted, &mut self.output)?;
            if is_equal || (finds_nan && is_nan(&wanted) && is_nan(&element)) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Calls a function with each element.
    fn each(
        &mut self,
        place: Place,
        array: &Item<'a>,
        method: Method,
        function: &'a Function,
    ) -> Result<Item<'a>> {
        let mut results = Vec::new();
        for index in 0..array.count() {
            self.output.spend(1)?;
            let element = array.element(index);
            let given = [element.clone(), Item::Number(index as f64), array.clone()];
            let result = self.invoke(place, function, &given)?;
            match method {
                Method::Map => results.push(result),
                Method::FlatMap if result.is_array() => {
                    results.extend(self.copied(&result, 0..result.count())?);
                }
                Method::FlatMap => results.push(result),
                Method::Filter if result.is_true() => results.push(element),
                Method::Find if result.is_true() => return Ok(element),
                Method::FindIndex if result.is_true() => return Ok(Item::Number(index as f64)),
                Method::Some if result.is_true() => return Ok(Item::Bool(true)),
                Method::Every if !result.is_true() => return Ok(Item::Bool(false)),
                _ => {}
            }
        }
        Ok(match method {
            Method::Find => Item::Undefined,
            Method::FindIndex => Item::Number(-1.0),
            Method::Some => Item::Bool(false),
            Method::Every => Item::Bool(true),
            _ => Item::List(results.into()),
        })
    }

    fn reduce(
        &mut self,
        place: Place,
        array: &Item<'a>,
        function: &'a Function,
        initial: Option<Item<'a>>,
    ) -> Result<Item<'a>> {
        let (mut result, first) = match initial {
            Some(initial) => (initial, 0),
            None if array.count() > 0 => (array.element(0), 1),
            None => {
                let reason = "an empty array is reduced without a first value";
                return Err(RenderError::data(place, reason));
            }
        };
        for index in first..array.count() {
            self.output.spend(1)?;
            let given = [
                result,
                array.element(index),
                Item::Number(index as f64),
                array.clone(),
            ];
            result = self.invoke(place, function, &given)?;
        }
        Ok(result)
    }
}
