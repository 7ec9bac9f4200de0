//! Finds, sets and removes what a key names in a list or an object.

use std::cmp::Ordering;

use jaq_json::{Rc, Val};

use super::compare::compare_by_operator;
use super::value::{Error, Value, failure};

/// Maximum index that makes a list grow: beyond it, the result could not be kept.
const MAX_LIST: usize = 1_000_000;

/// The place of an index in a list: a fraction is cut, a negative number counts from the end.
pub(super) fn place(index: f64, length: usize) -> Option<usize> {
    let index = index.trunc();
    match index >= 0.0 {
        true => Some(index as usize),
        false if index.is_nan() => None,
        false => length.checked_sub((-index) as usize),
    }
}

/// First index and end of a slice.
pub(super) fn slice(length: usize, start: &Value, end: &Value) -> Result<(usize, usize), Error> {
    let bound = |value: &Value, missing: usize, round: fn(f64) -> f64| match (&value.0, value.as_number()) {
        (Val::Null, _) => Ok(missing),
        (_, Some(number)) => {
            let number = if number < 0.0 {
                number + length as f64
            } else {
                number
            };
            // The cast takes NaN and negative numbers as 0.
            Ok((round(number) as usize).min(length))
        }
        (_, None) => Err(failure("start and end indices of an array slice must be numbers")),
    };
    let start = bound(start, 0, f64::floor)?;
    let end = bound(end, length, f64::ceil)?;
    Ok((start, end.max(start)))
}

/// Places where a list has the items of another one.
pub(super) fn indices(items: &[Val], part: &[Val]) -> Value {
    // Windows of no items do not exist.
    if part.is_empty() {
        return Value(Vec::<Val>::new().into_iter().collect());
    }
    let places = items.windows(part.len()).enumerate();
    let is_equal = |(item, part): (&Val, &Val)| compare_by_operator(item, part) == Ordering::Equal;
    let places = places.filter(|(_, window)| window.iter().zip(part).all(is_equal));
    Value(places.map(|(place, _)| Val::from(place)).collect())
}

/// Sets the value at a path of one step; None removes nothing and sets null.
pub(super) fn set(target: Value, key: &Value, value: Value) -> Result<Value, Error> {
    match (target.0, &key.0) {
        (Val::Null, Val::TStr(_)) => Ok(Value(Val::obj([(key.0.clone(), value.0)].into_iter().collect()))),
        (Val::Obj(mut fields), Val::TStr(_)) => {
            Rc::make_mut(&mut fields).insert(key.0.clone(), value.0);
            Ok(Value(Val::Obj(fields)))
        }
        (target @ (Val::Null | Val::Arr(_)), Val::Num(_)) => {
            let mut items = match target {
                Val::Arr(items) => items,
                _ => Rc::default(),
            };
            let index = key.as_number().unwrap_or(f64::NAN);
            let Some(place) = place(index, items.len()) else {
                return Err(failure("out of bounds negative array index"));
            };
            if place > MAX_LIST {
                return Err(failure(format_args!("the array index {place} is too large")));
            }
            let list = Rc::make_mut(&mut items);
            if place >= list.len() {
                list.resize(place + 1, Val::Null);
            }
            if let Some(item) = list.get_mut(place) {
                *item = value.0;
            }
            Ok(Value(Val::Arr(items)))
        }
        (target @ (Val::Null | Val::Arr(_)), Val::Obj(_)) => {
            let mut items = match target {
                Val::Arr(items) => items,
                _ => Rc::default(),
            };
            let (start, end) = key.bounds().unwrap_or_default();
            let (start, end) = slice(items.len(), &start, &end)?;
            let Val::Arr(part) = value.0 else {
                return Err(failure("a slice of an array can only be assigned another array"));
            };
            Rc::make_mut(&mut items).splice(start..end, part.iter().cloned());
            Ok(Value(Val::Arr(items)))
        }
        (target, _) => Value(target).cannot_index(key),
    }
}

/// Removes what is at a path of one step.
pub(super) fn removed(target: Value, key: &Value) -> Result<Value, Error> {
    match (target.0, &key.0) {
        (Val::Null, _) => Ok(Value::null()),
        (Val::Obj(mut fields), Val::TStr(_)) => {
            Rc::make_mut(&mut fields).shift_remove(&key.0);
            Ok(Value(Val::Obj(fields)))
        }
        (Val::Arr(mut items), Val::Num(_)) => {
            let index = key.as_number().and_then(|index| place(index, items.len()));
            if let Some(index) = index.filter(|index| *index < items.len()) {
                Rc::make_mut(&mut items).remove(index);
            }
            Ok(Value(Val::Arr(items)))
        }
        (Val::Arr(mut items), Val::Obj(_)) => {
            let (start, end) = key.bounds().unwrap_or_default();
            let (start, end) = slice(items.len(), &start, &end)?;
            Rc::make_mut(&mut items).drain(start..end);
            Ok(Value(Val::Arr(items)))
        }
        (target, _) => Err(failure(format_args!(
            "cannot delete {} of {}",
            key.described(),
            Value(target).described()
        ))),
    }
}
