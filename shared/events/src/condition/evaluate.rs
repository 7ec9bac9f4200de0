//! Evaluates a compiled condition as json-logic-js does.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::budget::{Budget, Result};
use super::lookup::{missing, missing_some, property, variable};
use super::rule::{Operator, Rule, Variable};
use super::value::{Value, join};

/// Evaluates a rule over `data`: the event, or an item of a list in it.
pub(super) fn evaluate<'a>(rule: &'a Rule, data: &'a Value, budget: &mut Budget) -> Result<Cow<'a, Value>> {
    budget.spend(1)?;
    match rule {
        Rule::Constant(value) => Ok(Cow::Borrowed(value)),
        Rule::List(rules) => {
            let items = rules
                .iter()
                .map(|rule| Ok(evaluate(rule, data, budget)?.into_owned()));
            let items = items.collect::<Result<_>>()?;
            Value::list(items, budget).map(Cow::Owned)
        }
        Rule::Operation(operator, arguments) => operation(*operator, arguments, data, budget),
        Rule::Variable(variable) => {
            // The name is an argument, too.
            budget.spend(1)?;
            let default = match &variable.default {
                Some(default) => evaluate(default, data, budget)?,
                None => Cow::Owned(Value::Undefined),
            };
            let Variable { parts, units, .. } = &**variable;
            property(parts.iter().map(String::as_str), *units, default, data, budget)
        }
    }
}

fn operation<'a>(
    operator: Operator,
    arguments: &'a [Rule],
    data: &'a Value,
    budget: &mut Budget,
) -> Result<Cow<'a, Value>> {
    let value = match operator {
        Operator::If => return choice(arguments, data, budget),
        Operator::And => return first(arguments, data, budget, |value| !value.is_truthy()),
        Operator::Or => return first(arguments, data, budget, Value::is_truthy),
        Operator::Filter => {
            let items = kept(arguments, data, budget)?;
            Value::list(items, budget)?
        }
        Operator::None => Value::Bool(!any(arguments, data, budget)?),
        Operator::Some => Value::Bool(any(arguments, data, budget)?),
        Operator::All => every(arguments, data, budget)?,
        Operator::Map => map(arguments, data, budget)?,
        Operator::Reduce => reduce(arguments, data, budget)?,
        eager => match arguments {
            [one, other] => {
                let values = [evaluate(one, data, budget)?, evaluate(other, data, budget)?];
                calculate(eager, &values, data, budget)?
            }
            _ => {
                let values = arguments.iter().map(|rule| evaluate(rule, data, budget));
                let values = values.collect::<Result<Vec<_>>>()?;
                calculate(eager, &values, data, budget)?
            }
        },
    };
    Ok(Cow::Owned(value))
}

fn choice<'a>(arguments: &'a [Rule], data: &'a Value, budget: &mut Budget) -> Result<Cow<'a, Value>> {
    for pair in arguments.chunks(2) {
        match pair {
            [condition, value] if evaluate(condition, data, budget)?.is_truthy() => {
                return evaluate(value, data, budget);
            }
            [otherwise] => return evaluate(otherwise, data, budget),
            _ => {}
        }
    }
    Ok(Cow::Owned(Value::Null))
}

/// Returns the first value that ends the evaluation, or the last one.
fn first<'a>(
    arguments: &'a [Rule],
    data: &'a Value,
    budget: &mut Budget,
    is_end: impl Fn(&Value) -> bool,
) -> Result<Cow<'a, Value>> {
    let mut value = Cow::Owned(Value::Undefined);
    for argument in arguments {
        value = evaluate(argument, data, budget)?;
        if is_end(&value) {
            break;
        }
    }
    Ok(value)
}

fn map(arguments: &[Rule], data: &Value, budget: &mut Budget) -> Result<Value> {
    let [list, logic, ..] = arguments else {
        return Ok(Value::Undefined);
    };
    let mut items = Vec::new();
    if let Value::List(list) = &*evaluate(list, data, budget)? {
        for item in &list.items {
            items.push(evaluate(logic, item, budget)?.into_owned());
        }
    }
    Value::list(items, budget)
}

/// Returns the items of the first argument for which the second holds.
fn kept(arguments: &[Rule], data: &Value, budget: &mut Budget) -> Result<Vec<Value>> {
    let mut items = Vec::new();
    if let [list, logic, ..] = arguments
        && let Value::List(list) = &*evaluate(list, data, budget)?
    {
        for item in &list.items {
            if evaluate(logic, item, budget)?.is_truthy() {
                items.push(item.clone());
            }
        }
    }
    Ok(items)
}

/// Returns whether the second argument holds for an item of the first.
fn any(arguments: &[Rule], data: &Value, budget: &mut Budget) -> Result<bool> {
    if let [list, logic, ..] = arguments
        && let Value::List(list) = &*evaluate(list, data, budget)?
    {
        for item in &list.items {
            if evaluate(logic, item, budget)?.is_truthy() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn every(arguments: &[Rule], data: &Value, budget: &mut Budget) -> Result<Value> {
    let [list, logic, ..] = arguments else {
        return Ok(Value::Undefined);
    };
    let list = evaluate(list, data, budget)?;
    let Value::List(list) = &*list else {
        return Ok(Value::Bool(false));
    };
    for item in &list.items {
        if !evaluate(logic, item, budget)?.is_truthy() {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(!list.items.is_empty()))
}

fn reduce(arguments: &[Rule], data: &Value, budget: &mut Budget) -> Result<Value> {
    let [list, logic, rest @ ..] = arguments else {
        return Ok(Value::Undefined);
    };
    let list = evaluate(list, data, budget)?;
    let mut accumulator = match rest.first() {
        Some(initial) => evaluate(initial, data, budget)?.into_owned(),
        None => Value::Null,
    };
    if let Value::List(list) = &*list {
        for item in &list.items {
            budget.spend_items(2)?;
            let scope = BTreeMap::from([
                ("current".to_owned(), item.clone()),
                ("accumulator".to_owned(), accumulator),
            ]);
            accumulator = evaluate(logic, &Value::object(scope), budget)?.into_owned();
        }
    }
    Ok(accumulator)
}

/// Calculates an operation whose arguments are evaluated first.
fn calculate(
    operator: Operator,
    values: &[Cow<'_, Value>],
    data: &Value,
    budget: &mut Budget,
) -> Result<Value> {
    let at = |index: usize| values.get(index).map_or(&Value::Undefined, |value| &**value);
    let (one, other) = (at(0), at(1));
    Ok(match operator {
        Operator::Equal => Value::Bool(one.is_equal(other, budget)?),
        Operator::NotEqual => Value::Bool(!one.is_equal(other, budget)?),
        Operator::Identical => Value::Bool(one.is_identical(other, budget)?),
        Operator::NotIdentical => Value::Bool(!one.is_identical(other, budget)?),
        Operator::Greater => Value::Bool(one.compare(other, budget)?.is_some_and(Ordering::is_gt)),
        Operator::GreaterOrEqual => Value::Bool(one.compare(other, budget)?.is_some_and(Ordering::is_ge)),
        Operator::Less => Value::Bool(ascends(values, budget, Ordering::is_lt)?),
        Operator::LessOrEqual => Value::Bool(ascends(values, budget, Ordering::is_le)?),
        Operator::Not => Value::Bool(!one.is_truthy()),
        Operator::IsTrue => Value::Bool(one.is_truthy()),
        Operator::Log => one.clone(),
        Operator::Add => {
            let mut sum = 0.0;
            for value in values {
                sum += parse_float(value, budget)?;
            }
            Value::Number(sum)
        }
        Operator::Multiply => match values {
            // As there, a single factor is returned as it is.
            [single] => single.clone().into_owned(),
            factors => {
                let mut product = 1.0;
                for factor in factors {
                    product *= parse_float(factor, budget)?;
                }
                Value::Number(product)
            }
        },
        Operator::Subtract if values.len() == 1 => Value::Number(-one.number(budget)?),
        Operator::Subtract => Value::Number(one.number(budget)? - other.number(budget)?),
        Operator::Divide => Value::Number(one.number(budget)? / other.number(budget)?),
        Operator::Remainder => Value::Number(one.number(budget)? % other.number(budget)?),
        Operator::Max => Value::Number(extreme(values, budget, f64::NEG_INFINITY, |new, old| new > old)?),
        Operator::Min => Value::Number(extreme(values, budget, f64::INFINITY, |new, old| new < old)?),
        Operator::In => Value::Bool(contains(other, one, budget)?),
        Operator::Cat => {
            let mut units = Vec::new();
            join(values.iter().map(|value| &**value), "", &mut units, budget)?;
            Value::Text(units.into())
        }
        Operator::Substr => substring(one, other, at(2), budget)?,
        Operator::Merge => {
            let mut items = Vec::new();
            for value in values {
                let added = match &**value {
                    Value::List(list) => list.items.as_slice(),
                    single => std::slice::from_ref(single),
                };
                budget.spend_items(added.len())?;
                items.extend_from_slice(added);
            }
            Value::whole_list(items)
        }
        Operator::Var => variable(one, at(1), data, budget)?.into_owned(),
        Operator::Missing => {
            let absent = match one {
                Value::List(list) => missing(&list.items, data, budget)?,
                _ => missing(values.iter().map(|value| &**value), data, budget)?,
            };
            Value::list(absent, budget)?
        }
        Operator::MissingSome => missing_some(one, other, data, budget)?,
        // `operation` evaluates the arguments of the others itself.
        _ => Value::Undefined,
    })
}

/// `<` and `<=` also take three values, of which the second lies between the others.
fn ascends(values: &[Cow<'_, Value>], budget: &mut Budget, holds: fn(Ordering) -> bool) -> Result<bool> {
    let values = values.get(..3).unwrap_or(values);
    for pair in values.windows(2) {
        let [one, other] = pair else { break };
        if !one.compare(other, budget)?.is_some_and(holds) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the number at the beginning of a text, as `parseFloat` does.
fn parse_float(value: &Value, budget: &mut Budget) -> Result<f64> {
    if let Value::Number(number) = value {
        return Ok(*number);
    }
    let units = value.units(budget)?;
    budget.spend_units(units.len())?;
    Ok(platform::javascript::parse_float(&String::from_utf16_lossy(
        &units,
    )))
}

/// Returns the greatest or smallest number; NaN where a value is none.
fn extreme(
    values: &[Cow<'_, Value>],
    budget: &mut Budget,
    empty: f64,
    is_beyond: impl Fn(f64, f64) -> bool,
) -> Result<f64> {
    let mut extreme = empty;
    for value in values {
        let number = value.number(budget)?;
        if number.is_nan() || is_beyond(number, extreme) {
            extreme = number;
        }
    }
    Ok(extreme)
}

/// Returns whether a list has an item, or a text another one.
fn contains(whole: &Value, part: &Value, budget: &mut Budget) -> Result<bool> {
    match whole {
        Value::List(list) => {
            for item in &list.items {
                budget.spend(1)?;
                if item.is_identical(part, budget)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        // As there, nothing is in an empty text.
        Value::Text(text) if !text.is_empty() => {
            let part = part.units(budget)?;
            if part.is_empty() {
                return Ok(true);
            }
            // Each place could compare all units.
            budget.spend_units(text.len())?;
            budget.spend_units(text.len().saturating_mul(part.len()) / 8)?;
            Ok(text.windows(part.len()).any(|window| window == &*part))
        }
        _ => Ok(false),
    }
}

/// `String.prototype.substr`, with an end that may be counted from the end of the text.
fn substring(text: &Value, start: &Value, end: &Value, budget: &mut Budget) -> Result<Value> {
    let text = text.units(budget)?;
    let start = start.number(budget)?;
    let tail = cut(&text, start, None);
    let is_from_end = end
        .compare(&Value::Number(0.0), budget)?
        .is_some_and(Ordering::is_lt);
    let part = match end {
        Value::Undefined => tail,
        end if is_from_end => cut(tail, 0.0, Some(end.plus(tail.len() as f64, budget)?)),
        end => cut(&text, start, Some(end.number(budget)?)),
    };
    budget.spend_units(part.len())?;
    Ok(Value::Text(part.into()))
}

/// Returns a part of a text by the number of its first unit, from the end where it is negative, and by its
/// length.
fn cut(text: &[u16], start: f64, length: Option<f64>) -> &[u16] {
    // Conversions of doubles saturate, and NaN becomes 0, as in JavaScript.
    let start = match start.trunc() as i64 {
        from_end @ ..0 => text
            .len()
            .saturating_sub(usize::try_from(from_end.unsigned_abs()).unwrap_or(usize::MAX)),
        start => usize::try_from(start).unwrap_or(usize::MAX),
    };
    let rest = text.get(start..).unwrap_or_default();
    let length = length.map_or(usize::MAX, |length| length.trunc() as usize);
    rest.get(..length).unwrap_or(rest)
}
