//! What a condition may cost on an event of a size: an upper bound, made of what each operation can make of what it is given.
//!
//! A step is a value that is looked at or made, or sixteen bytes of a text. In the rounds of an operation that goes through an array a
//! variable sees one entry, and all entries together are no larger than the array: so a round is counted with an entry of the average
//! size, which is right for all rounds together as long as what a round costs grows no faster than its entry. It does where a `reduce`
//! carries something large from round to round; there each round is counted with the whole.

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
            Self::Rule(rule) => estimate(rule, &Sight::of(size)).steps,
        }
    }
}

/// How large what variables see is.
#[derive(Clone, Copy)]
struct Sight {
    /// What they see: the event, or an entry of the average size.
    seen: Size,
    /// The largest that it can be.
    whole: Size,
    /// What a `reduce` has made in the rounds before, in bytes.
    accumulator: f64,
}

impl Sight {
    fn of(size: Size) -> Self {
        Self {
            seen: size,
            whole: size,
            accumulator: 0.0,
        }
    }
}

fn is_comparison(operator: &str) -> bool {
    SCANS.contains(&operator) && !matches!(operator, "in" | "substr" | "var")
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
            let is_short = is_comparison(operator) && arguments(given).iter().any(is_literal);
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

/// What a rule costs.
fn estimate(rule: &Value, sight: &Sight) -> Estimate {
    match rule {
        Value::Array(items) => {
            let parts: Vec<_> = items.iter().map(|item| estimate(item, sight)).collect();
            joined(&parts)
        }
        Value::Object(fields) => match fields.iter().next() {
            Some((operator, given)) => operation(operator, arguments(given), sight),
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

fn operation(operator: &str, given: &[Value], sight: &Sight) -> Estimate {
    if LOOPS.contains(&operator) {
        return going_through(operator, given, sight);
    }
    let parts: Vec<_> = given.iter().map(|part| estimate(part, sight)).collect();
    let steps: f64 = 1.0 + parts.iter().map(|part| part.steps).sum::<f64>();
    let most = largest(&parts);
    let all: f64 = parts.iter().map(|part| part.bytes).sum();
    let shortest = parts.iter().map(|part| part.bytes).fold(all, f64::min);
    match operator {
        "var" => {
            let seen = variable(given, sight);
            Estimate {
                steps,
                bytes: seen.bytes.max(most.bytes),
                items: seen.items.max(most.items),
            }
        }
        operator if JOINS.contains(&operator) => joined(&parts),
        operator if CHOICES.contains(&operator) => Estimate { steps, ..most },
        operator if is_comparison(operator) => scalar(steps + 2.0 * shortest / BYTES_OF_STEP),
        "substr" => Estimate {
            steps: steps + all / BYTES_OF_STEP,
            ..most
        },
        // Texts are searched, or read as numbers, of which there may be an array.
        _ => scalar(steps + all / BYTES_OF_STEP),
    }
}

/// How large what a variable names can be.
fn variable(given: &[Value], sight: &Sight) -> Size {
    let path = given.first().and_then(Value::as_str);
    match path {
        Some(path) if path.starts_with("accumulator") && sight.accumulator > 0.0 => Size {
            bytes: sight.accumulator,
            items: sight.accumulator,
        },
        // A path that is made may lead anywhere.
        None if given.first().is_some_and(Value::is_object) => Size {
            bytes: sight.seen.bytes.max(sight.accumulator),
            items: sight.seen.items.max(sight.accumulator),
        },
        _ => sight.seen,
    }
}

fn going_through(operator: &str, given: &[Value], sight: &Sight) -> Estimate {
    let mut parts = given.iter();
    let source = parts.next();
    let at_most = |sight: &Sight| source.map_or_else(|| scalar(0.0), |source| estimate(source, sight));
    let whole = at_most(&Sight {
        seen: sight.whole,
        ..*sight
    });
    let source = at_most(sight);
    let body = parts.next();
    let first = parts
        .next()
        .map_or_else(|| scalar(0.0), |part| estimate(part, sight));
    let rounds = source.items.max(1.0);
    let entry = Sight {
        // In an entry there are no more values than half of its bytes.
        seen: Size {
            bytes: source.bytes / rounds,
            items: source.bytes / 2.0 / rounds,
        },
        whole: Size {
            bytes: whole.bytes,
            items: whole.bytes / 2.0,
        },
        accumulator: 0.0,
    };
    let round_of = |sight: &Sight| body.map_or_else(|| scalar(0.0), |body| estimate(body, sight));
    let steps = 1.0 + source.steps + first.steps;
    match operator {
        "map" => {
            let round = round_of(&entry);
            let bytes = rounds * (1.0 + round.bytes);
            Estimate {
                steps: steps + rounds * (1.0 + round.steps) + bytes / BYTES_OF_STEP,
                bytes,
                items: rounds.max(round.items),
            }
        }
        "filter" => Estimate {
            steps: steps + rounds * (1.0 + round_of(&entry).steps),
            ..source
        },
        "reduce" => {
            let carried = |sight: Sight, bytes: f64| {
                round_of(&Sight {
                    accumulator: bytes,
                    ..sight
                })
            };
            let round = carried(entry, first.bytes);
            let accumulator = first.bytes.max(round.bytes);
            if accumulator <= SCALAR_BYTES {
                return scalar(steps + rounds * (1.0 + round.steps));
            }
            // Nothing grows in a round, so what is carried is a part of what there was, or of the rule.
            let literals = body.map_or(0.0, |body| body.to_string().len() as f64);
            let largest = first.bytes.max(whole.bytes).max(literals);
            let all = Sight {
                seen: entry.whole,
                ..entry
            };
            let round = carried(all, largest);
            Estimate {
                steps: steps + rounds * (1.0 + round.steps),
                bytes: largest,
                items: largest / 2.0,
            }
        }
        _ => scalar(steps + rounds * (1.0 + round_of(&entry).steps)),
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
