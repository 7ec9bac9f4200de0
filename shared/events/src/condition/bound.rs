//! Computes an upper bound for the cost of a condition on an event of a given size.
//!
//! A step is one value that is read or created, or sixteen bytes of a text. In each round of a loop over an
//! array a variable sees one entry, and all entries together are no larger than the array. So a round is
//! counted with an entry of average size, which is right for the sum of all rounds as long as the cost of a
//! round grows no faster than its entry. It does grow faster where a `reduce` carries a large value from
//! round to round; there each round is counted with the whole array.

use std::cell::Cell;

use platform::Result;
use serde_json::Value;

use super::Size;
use super::check::{CHOICES, JOINS, LOOPS, SCANS, arguments, refusal};

/// Bytes of a text that count as one step.
const BYTES_OF_STEP: f64 = 16.0;
/// Bytes of a number or boolean.
const SCALAR_BYTES: f64 = 32.0;
/// Minimum size of an object's entry, in bytes.
const FIELD_BYTES: f64 = 5.0;
/// Maximum number of estimates for a condition and its parts. A part is estimated once for each way in which
/// its data can be large.
const MAX_ESTIMATES: u32 = 20_000;

/// An event so large that the bound estimates every part.
const LARGE: Size = Size {
    bytes: 1e9,
    items: 1e6,
    fields: 1e6,
};

pub(super) enum Cost {
    /// The condition contains no loop and no join, so the cost is a formula.
    Straight(Straight),
    /// The cost is estimated anew for each event.
    Rule(Value),
}

/// Cost of a condition without loops and joins.
#[derive(Clone, Copy, Default)]
pub(super) struct Straight {
    steps: f64,
    /// Number of reads of a value that may be as large as the event.
    looks: f64,
    /// Number of lookups of object entries by name.
    lookups: f64,
    /// Number of comparisons of two values that may both be objects.
    comparisons: f64,
}

/// Cost of an operation, and size of its result.
#[derive(Clone, Copy)]
struct Estimate {
    steps: f64,
    bytes: f64,
    items: f64,
}

impl Cost {
    /// Computes the cost of a checked condition. Fails with 400 where that needs too many estimates.
    pub fn from_rule(rule: &Value) -> Result<Self> {
        if is_straight(rule) {
            return Ok(Self::Straight(straight(rule)));
        }
        let estimates = Cell::new(0);
        estimate(rule, &Sight::new(LARGE, &estimates));
        if estimates.get() > MAX_ESTIMATES {
            return Err(refusal(
                "goes too many times through what it makes by going through arrays",
            ));
        }
        Ok(Self::Rule(rule.clone()))
    }

    /// Returns the maximum number of steps on an event of a given size.
    pub fn on(&self, size: Size) -> f64 {
        match self {
            Self::Straight(straight) => {
                straight.steps
                    + straight.looks * size.bytes / BYTES_OF_STEP
                    + straight.lookups * size.fields
                    + straight.comparisons * equality(size.fields, size.bytes)
            }
            // No more estimates than at compilation: on a smaller event a `reduce` may need fewer.
            Self::Rule(rule) => estimate(rule, &Sight::new(size, &Cell::new(0))).steps,
        }
    }
}

/// Size of the data that variables see.
#[derive(Clone, Copy)]
struct Sight<'a> {
    /// Size of the visible data: the event, or an entry of average size.
    seen: Size,
    /// Maximum size of the visible data.
    whole: Size,
    /// Size of the `reduce` accumulator after the rounds before, in bytes.
    accumulator: f64,
    /// Number of estimates so far.
    estimates: &'a Cell<u32>,
}

impl<'a> Sight<'a> {
    fn new(size: Size, estimates: &'a Cell<u32>) -> Self {
        Self {
            seen: size,
            whole: size,
            accumulator: 0.0,
            estimates,
        }
    }
}

/// Returns the steps to find two values equal: each entry of one object is looked up in the other.
fn equality(fields: f64, bytes: f64) -> f64 {
    fields * bytes / FIELD_BYTES
}

fn is_literal(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// Returns the number of names in the path of a `var`.
fn path_length(given: &[Value]) -> f64 {
    match given.first() {
        Some(Value::String(path)) => 1.0 + path.matches('.').count() as f64,
        // A computed path has an unknown length; a body has at most this many levels.
        Some(Value::Object(_)) => 128.0,
        _ => 1.0,
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

/// Returns the cost of a condition without loops and joins.
fn straight(rule: &Value) -> Straight {
    let of_all = |parts: &mut dyn Iterator<Item = &Value>| {
        parts
            .map(straight)
            .fold(Straight::default(), |sum, part| Straight {
                steps: sum.steps + part.steps,
                looks: sum.looks + part.looks,
                lookups: sum.lookups + part.lookups,
                comparisons: sum.comparisons + part.comparisons,
            })
    };
    let mut cost = match rule {
        Value::Array(items) => of_all(&mut items.iter()),
        Value::Object(fields) => of_all(&mut fields.values()),
        Value::String(text) => Straight {
            steps: text.len() as f64 / BYTES_OF_STEP,
            ..Straight::default()
        },
        _ => Straight::default(),
    };
    cost.steps += 1.0;
    for (operator, given) in rule.as_object().into_iter().flatten() {
        let given = arguments(given);
        match operator.as_str() {
            "var" => cost.lookups += path_length(given),
            // A comparison ends at the end of the shorter value.
            operator if is_comparison(operator) && given.iter().any(is_literal) => {}
            operator if is_comparison(operator) => {
                cost.looks += given.len() as f64;
                cost.comparisons += given.len() as f64;
            }
            operator if SCANS.contains(&operator) => {
                cost.looks += given.len() as f64;
                if operator == "in" && !given.first().is_none_or(is_literal) {
                    cost.comparisons += 1.0;
                }
            }
            _ => {}
        }
    }
    cost
}

/// Estimates the cost of a rule.
fn estimate(rule: &Value, sight: &Sight<'_>) -> Estimate {
    let estimates = sight.estimates.get().saturating_add(1);
    sight.estimates.set(estimates);
    if estimates > MAX_ESTIMATES {
        return scalar(f64::INFINITY);
    }
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

fn operation(operator: &str, given: &[Value], sight: &Sight<'_>) -> Estimate {
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
                steps: steps + path_length(given) * seen.fields,
                bytes: seen.bytes.max(most.bytes),
                items: seen.items.max(most.items),
            }
        }
        operator if JOINS.contains(&operator) => {
            let all = joined(&parts);
            // `missing` and `missing_some` look up every name.
            let is_search = operator.starts_with("missing");
            let lookups = if is_search {
                all.items * sight.seen.fields
            } else {
                0.0
            };
            Estimate {
                steps: all.steps + lookups,
                ..all
            }
        }
        operator if CHOICES.contains(&operator) => Estimate { steps, ..most },
        operator if is_comparison(operator) && given.iter().any(is_literal) => {
            scalar(steps + 2.0 * shortest / BYTES_OF_STEP)
        }
        operator if is_comparison(operator) => {
            scalar(steps + 2.0 * shortest / BYTES_OF_STEP + equality(sight.whole.fields, shortest))
        }
        "in" if !given.first().is_none_or(is_literal) => {
            scalar(steps + all / BYTES_OF_STEP + equality(sight.whole.fields, all))
        }
        "substr" => Estimate {
            steps: steps + all / BYTES_OF_STEP,
            ..most
        },
        // These operators search texts or parse them as numbers; an argument may be an array of texts.
        _ => scalar(steps + all / BYTES_OF_STEP),
    }
}

/// Returns the maximum size of the data that a variable reads.
fn variable(given: &[Value], sight: &Sight<'_>) -> Size {
    let path = given.first().and_then(Value::as_str);
    let accumulator = Size {
        bytes: sight.accumulator,
        items: sight.accumulator,
        fields: sight.whole.fields.min(1.0 + sight.accumulator / FIELD_BYTES),
    };
    match path {
        Some(path) if path.starts_with("accumulator") && sight.accumulator > 0.0 => accumulator,
        // A computed path may lead anywhere.
        None if given.first().is_some_and(Value::is_object) => Size {
            bytes: sight.seen.bytes.max(accumulator.bytes),
            items: sight.seen.items.max(accumulator.items),
            fields: sight.seen.fields.max(accumulator.fields),
        },
        _ => sight.seen,
    }
}

fn going_through(operator: &str, given: &[Value], sight: &Sight<'_>) -> Estimate {
    let mut parts = given.iter();
    let source = parts.next();
    let at_most = |sight: &Sight<'_>| source.map_or_else(|| scalar(0.0), |source| estimate(source, sight));
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
        // An entry has at most half as many values as bytes.
        seen: Size {
            bytes: source.bytes / rounds,
            items: source.bytes / 2.0 / rounds,
            fields: sight.whole.fields.min(1.0 + source.bytes / FIELD_BYTES / rounds),
        },
        whole: Size {
            bytes: whole.bytes,
            items: whole.bytes / 2.0,
            fields: sight.whole.fields,
        },
        accumulator: 0.0,
        ..*sight
    };
    let round_of = |sight: &Sight<'_>| body.map_or_else(|| scalar(0.0), |body| estimate(body, sight));
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
            let carried = |sight: Sight<'_>, bytes: f64| {
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
            // No operation in a `reduce` makes its data larger, so the accumulator is a part of the data or
            // of the rule.
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

/// Combines all parts into one result.
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

/// Returns the maximum of each quantity.
fn largest(parts: &[Estimate]) -> Estimate {
    parts.iter().fold(scalar(0.0), |most, part| Estimate {
        steps: most.steps.max(part.steps),
        bytes: most.bytes.max(part.bytes),
        items: most.items.max(part.items),
    })
}
