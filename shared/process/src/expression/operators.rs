//! The operators of jq between two values.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use jaq_core::ValR;
use jaq_core::ops::Math;
use jaq_json::{Num, Val};

use super::compare::compare_by_operator;
use super::value::{Error, Value, failure};

fn no_operation(left: &Value, operation: Math, right: &Value) -> Error {
    let verb = match operation {
        Math::Add => "added",
        Math::Sub => "subtracted",
        Math::Mul => "multiplied",
        Math::Div | Math::Rem => "divided",
    };
    failure(format_args!(
        "{} and {} cannot be {verb}",
        left.described(),
        right.described()
    ))
}

impl Add for Value {
    type Output = ValR<Self>;

    fn add(self, other: Self) -> Self::Output {
        match (&self.0, &other.0) {
            (Val::Null, _) => Ok(other),
            (_, Val::Null) => Ok(self),
            (Val::Num(_), Val::Num(_))
            | (Val::TStr(_), Val::TStr(_))
            | (Val::Arr(_), Val::Arr(_))
            | (Val::Obj(_), Val::Obj(_)) => library(self.0 + other.0),
            _ => Err(no_operation(&self, Math::Add, &other)),
        }
    }
}

impl Sub for Value {
    type Output = ValR<Self>;

    fn sub(self, other: Self) -> Self::Output {
        match (&self.0, &other.0) {
            (Val::Num(_), Val::Num(_)) => library(self.0 - other.0),
            (Val::Arr(items), Val::Arr(others)) => {
                let is_taken = |item: &&Val| {
                    others
                        .iter()
                        .any(|other| compare_by_operator(item, other) == Ordering::Equal)
                };
                Ok(Self(
                    items.iter().filter(|item| !is_taken(item)).cloned().collect(),
                ))
            }
            _ => Err(no_operation(&self, Math::Sub, &other)),
        }
    }
}

impl Mul for Value {
    type Output = ValR<Self>;

    fn mul(self, other: Self) -> Self::Output {
        match (&self.0, &other.0) {
            (Val::Num(_), Val::Num(_)) | (Val::Obj(_), Val::Obj(_)) => library(self.0 * other.0),
            (Val::TStr(_), Val::Num(_)) => Ok(repeated(&self, &other)),
            (Val::Num(_), Val::TStr(_)) => Ok(repeated(&other, &self)),
            _ => Err(no_operation(&self, Math::Mul, &other)),
        }
    }
}

/// Repeats a text; the fraction of the number is cut, and less than no repetition is null.
fn repeated(text: &Value, times: &Value) -> Value {
    let times = times.as_number().unwrap_or(f64::NAN);
    if times.is_nan() || times < 0.0 {
        return Value::null();
    }
    Value::text(text.as_text().unwrap_or_default().repeat(times as usize))
}

impl Div for Value {
    type Output = ValR<Self>;

    fn div(self, other: Self) -> Self::Output {
        match (&self.0, &other.0) {
            (Val::Num(_), Val::Num(_)) if other.as_number() == Some(0.0) => Err(by_zero(&self, &other)),
            (Val::Num(_), Val::Num(_)) | (Val::TStr(_), Val::TStr(_)) => library(self.0 / other.0),
            _ => Err(no_operation(&self, Math::Div, &other)),
        }
    }
}

fn by_zero(left: &Value, right: &Value) -> Error {
    failure(format_args!(
        "{} and {} cannot be divided because the divisor is zero",
        left.described(),
        right.described()
    ))
}

impl Rem for Value {
    type Output = ValR<Self>;

    /// Cuts the fractions of both numbers.
    fn rem(self, other: Self) -> Self::Output {
        let (Some(left), Some(right)) = (self.as_number(), other.as_number()) else {
            return Err(no_operation(&self, Math::Rem, &other));
        };
        if left.is_nan() || right.is_nan() {
            return Ok(Self::number(f64::NAN));
        }
        let whole = |value: &Self, number: f64| match &value.0 {
            Val::Num(Num::Int(_) | Num::BigInt(_)) => value.0.clone(),
            _ => Val::Num(Num::Int(number as isize)),
        };
        let (left, right) = (whole(&self, left), whole(&other, right));
        match right == Val::Num(Num::Int(0)) {
            true => Err(by_zero(&self, &other)),
            false => library(left % right),
        }
    }
}

impl Neg for Value {
    type Output = ValR<Self>;

    fn neg(self) -> Self::Output {
        match &self.0 {
            Val::Num(_) => library(-self.0),
            _ => Err(failure(format_args!("{} cannot be negated", self.described()))),
        }
    }
}

/// The operands have kinds that the library takes.
fn library(result: Result<Val, jaq_json::Error>) -> ValR<Value> {
    result.map(Value).map_err(failure)
}
