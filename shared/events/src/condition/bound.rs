//! What a condition may cost on an event of a size: an upper bound, made of what each operation can make of what it is given.
//!
//! A step is a value that is looked at or made, or sixteen bytes of a text.

use serde_json::Value;

use super::Size;
use super::check::{CHOICES, JOINS, LOOPS, SCANS, arguments};

/// Bytes of a text that count as a step.
const BYTES_OF_STEP: f64 = 16.0;
/// Bytes of a number or a truth value.
const SCALAR_BYTES: f64 = 32.0;

/// What a condition may cost.
pub(super) enum Cost {
    /// It neither goes through arrays nor joins anything: so many steps, and so many looks at something as large as the event.
    Straight { steps: f64, looks: f64 },
    /// It is worked out for each event.
    Rule(Value),
}

/// What an operation costs, and how large its result is.
#[derive(Clone, Copy)]
struct Estimate {
    steps: f64,
    bytes: f64,
    items: f64,
}

impl Cost {
    /// Of a condition that was checked.
    pub fn of(rule: &Value) -> Self {
        if is_straight(rule) {
            let (steps, looks) = straight(rule);
            return Self::Straight { steps, looks };
        }
        Self::Rule(rule.clone())
    }

    /// The most steps on an event of a size.
    pub fn on(&self, size: Size) -> f64 {
        match self {
            Self::Straight { steps, looks } => steps + looks * size.bytes / BYTES_OF_STEP,
            Self::Rule(rule) => estimate(rule, size).steps,
        }
    }
}

fn is_straight(rule: &Value) -> bool {
    match rule {
        Value::Array(items) => items.iter().all(is_straight),
        Value::Object(fields) => fields.iter().all(|(operator, given)| {
            let operator = operator.as_str();
            !LOOPS.contains(&operator) && !JOINS.contains(&operator) && is_straight(given)
        }),
        _ => true,
    }
}

/// The steps of a condition that neither loops nor joins, and how many of its operations look at more than a literal's length.
fn straight(rule: &Value) -> (f64, f64) {
    let add = |one: (f64, f64), other: (f64, f64)| (one.0 + other.0, one.1 + other.1);
    match rule {
        Value::Array(items) => items.iter().map(straight).fold((1.0, 0.0), add),
        Value::Object(fields) => fields.iter().fold((1.0, 0.0), |sum, (operator, given)| {
            let is_literal = |value: &Value| !value.is_object() && !value.is_array();
            // A comparison ends with the shorter one.
            let is_short = operator != "in" && operator != "substr" && arguments(given).iter().any(is_literal);
            let looks = match SCANS.contains(&operator.as_str()) && operator != "var" && !is_short {
                true => arguments(given).len() as f64,
                false => 0.0,
            };
            add(add(sum, straight(given)), (0.0, looks))
        }),
        Value::String(text) => (1.0 + text.len() as f64 / BYTES_OF_STEP, 0.0),
        _ => (1.0, 0.0),
    }
}

/// What a rule costs where a variable can be as large as `size`.
fn estimate(rule: &Value, size: Size) -> Estimate {
    match rule {
        Value::Array(items) => {
            let parts: Vec<_> = items.iter().map(|item| estimate(item, size)).collect();
            joined(&parts)
        }
        Value::Object(fields) => match fields.iter().next() {
            Some((operator, given)) => operation(operator, arguments(given), size),
            None => scalar(0.0),
        },
        Value::String(text) => Estimate {
            steps: 1.0 + text.len() as f64 / BYTES_OF_STEP,
            bytes: text.len() as f64,
            items: 1.0,
        },
        _ => scalar(1.0),
    }
}

fn operation(operator: &str, given: &[Value], size: Size) -> Estimate {
    if LOOPS.contains(&operator) {
        return going_through(operator, given, size);
    }
    let parts: Vec<_> = given.iter().map(|part| estimate(part, size)).collect();
    let steps: f64 = 1.0 + parts.iter().map(|part| part.steps).sum::<f64>();
    let most = largest(&parts);
    let all: f64 = parts.iter().map(|part| part.bytes).sum();
    match operator {
        "var" => Estimate {
            steps,
            bytes: size.bytes.max(most.bytes),
            items: size.items.max(most.items),
        },
        operator if JOINS.contains(&operator) => joined(&parts),
        operator if CHOICES.contains(&operator) => Estimate { steps, ..most },
        "substr" => Estimate {
            steps: steps + all / BYTES_OF_STEP,
            ..most
        },
        operator if SCANS.contains(&operator) => scalar(steps + all / BYTES_OF_STEP),
        // Numbers are read of texts, and may be those of an array.
        _ => scalar(steps + all / BYTES_OF_STEP + parts.iter().map(|part| part.items).sum::<f64>()),
    }
}

fn going_through(operator: &str, given: &[Value], size: Size) -> Estimate {
    let mut parts = given.iter();
    let source = parts.next().map_or_else(|| scalar(0.0), |part| estimate(part, size));
    let body = parts.next();
    let first = parts.next().map_or_else(|| scalar(0.0), |part| estimate(part, size));
    // In a round a variable is an entry, or what the rounds before made, which is never more than all that they could see.
    let literals = body.map_or(0.0, |body| body.to_string().len() as f64);
    let seen = Size {
        bytes: size.bytes.max(source.bytes).max(first.bytes).max(literals),
        items: size.items.max(source.items).max(first.items).max(literals),
    };
    let round = body.map_or_else(|| scalar(0.0), |body| estimate(body, seen));
    let steps = 1.0 + source.steps + first.steps + source.items * (1.0 + round.steps);
    match operator {
        "map" => Estimate {
            steps: steps + source.items * round.bytes / BYTES_OF_STEP,
            bytes: source.items * round.bytes.max(1.0),
            items: source.items.max(round.items),
        },
        "filter" => Estimate { steps, ..source },
        "reduce" => Estimate {
            steps,
            bytes: seen.bytes,
            items: seen.items,
        },
        _ => scalar(steps),
    }
}

fn scalar(steps: f64) -> Estimate {
    Estimate {
        steps,
        bytes: SCALAR_BYTES,
        items: 1.0,
    }
}

/// Everything in one.
fn joined(parts: &[Estimate]) -> Estimate {
    let bytes: f64 = parts.iter().map(|part| part.bytes).sum();
    let items: f64 = parts.iter().map(|part| part.items).sum();
    let steps: f64 = parts.iter().map(|part| part.steps).sum();
    Estimate {
        steps: 1.0 + steps + items + bytes / BYTES_OF_STEP,
        bytes,
        items,
    }
}

/// The largest of them, in each way.
fn largest(parts: &[Estimate]) -> Estimate {
    parts.iter().fold(scalar(0.0), |most, part| Estimate {
        steps: most.steps.max(part.steps),
        bytes: most.bytes.max(part.bytes),
        items: most.items.max(part.items),
    })
}
