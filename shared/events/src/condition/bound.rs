//! Computes an upper bound for the cost of a condition on an event of a given size.
//!
//! A step is one value that is read or created, or sixteen bytes of a text. A loop over n entries with the
//! total size S costs n rounds, each with an entry of size S/n: the cost of a round is at most linear in its
//! entry, so the average gives the sum. The cost of a `reduce` with a large accumulator is not linear in the
//! entry, so each of its rounds is charged with S.

use std::cell::Cell;

use platform::Result;
use serde_json::Value;

use super::Size;
use super::check::{ARITHMETIC, CHOICES, JOINS, LOOPS, SCANS, arguments, refusal};

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
    full_reads: f64,
    /// Number of lookups of object entries by name.
    lookups: f64,
    /// Number of comparisons of two values that may both be objects.
    comparisons: f64,
    /// Number of sums and the like over an array, which read every entry.
    folds: f64,
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
        estimate(rule, &Visible::new(LARGE, &estimates));
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
                    + straight.full_reads * size.bytes / BYTES_OF_STEP
                    + straight.lookups * size.fields
                    + straight.folds * size.items
                    + straight.comparisons * equality(size.fields, size.bytes)
            }
            // No more estimates than at compilation: on a smaller event a `reduce` may need fewer.
            Self::Rule(rule) => estimate(rule, &Visible::new(size, &Cell::new(0))).steps,
        }
    }
}

/// Size of the data that variables see.
#[derive(Clone, Copy)]
struct Visible<'a> {
    /// Size of the visible data: the event, or an entry of average size.
    seen: Size,
    /// Maximum size of the visible data.
    whole: Size,
    /// Size of the `reduce` accumulator after the rounds before, in bytes.
    accumulator: f64,
    /// Number of estimates so far.
    estimates: &'a Cell<u32>,
}

impl<'a> Visible<'a> {
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
                full_reads: sum.full_reads + part.full_reads,
                lookups: sum.lookups + part.lookups,
                comparisons: sum.comparisons + part.comparisons,
                folds: sum.folds + part.folds,
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
                cost.full_reads += given.len() as f64;
                cost.comparisons += given.len() as f64;
            }
            operator if SCANS.contains(&operator) => {
                cost.full_reads += given.len() as f64;
                if operator == "in" && !given.first().is_none_or(is_literal) {
                    cost.comparisons += 1.0;
                }
            }
            // An argument is an array to fold or a text to parse.
            operator if ARITHMETIC.contains(&operator) => {
                let values = given.iter().filter(|value| !is_literal(value)).count() as f64;
                cost.full_reads += values;
                cost.folds += values;
            }
            _ => {}
        }
    }
    cost
}

/// Estimates the cost of a rule.
fn estimate(rule: &Value, visible: &Visible<'_>) -> Estimate {
    let estimates = visible.estimates.get().saturating_add(1);
    visible.estimates.set(estimates);
    if estimates > MAX_ESTIMATES {
        return scalar(f64::INFINITY);
    }
    match rule {
        Value::Array(items) => {
            let parts: Vec<_> = items.iter().map(|item| estimate(item, visible)).collect();
            joined(&parts)
        }
        Value::Object(fields) => match fields.iter().next() {
            Some((operator, given)) => operation(operator, arguments(given), visible),
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

fn operation(operator: &str, given: &[Value], visible: &Visible<'_>) -> Estimate {
    if LOOPS.contains(&operator) {
        return estimate_loop(operator, given, visible);
    }
    let parts: Vec<_> = given.iter().map(|part| estimate(part, visible)).collect();
    let steps: f64 = 1.0 + parts.iter().map(|part| part.steps).sum::<f64>();
    let most = largest(&parts);
    let all: f64 = parts.iter().map(|part| part.bytes).sum();
    let shortest = parts.iter().map(|part| part.bytes).fold(all, f64::min);
    match operator {
        "var" => {
            let seen = variable(given, visible);
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
                all.items * visible.seen.fields
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
            scalar(steps + 2.0 * shortest / BYTES_OF_STEP + equality(visible.whole.fields, shortest))
        }
        "in" if !given.first().is_none_or(is_literal) => {
            scalar(steps + all / BYTES_OF_STEP + equality(visible.whole.fields, all))
        }
        "substr" => Estimate {
            steps: steps + all / BYTES_OF_STEP,
            ..most
        },
        operator if ARITHMETIC.contains(&operator) => {
            let items: f64 = parts.iter().map(|part| part.items).sum();
            scalar(steps + items + all / BYTES_OF_STEP)
        }
        // These operators search texts or parse them as numbers; an argument may be an array of texts.
        _ => scalar(steps + all / BYTES_OF_STEP),
    }
}

/// Returns the maximum size of the data that a variable reads.
fn variable(given: &[Value], visible: &Visible<'_>) -> Size {
    let path = given.first().and_then(Value::as_str);
    let accumulator = Size {
        bytes: visible.accumulator,
        items: visible.accumulator,
        fields: visible.whole.fields.min(1.0 + visible.accumulator / FIELD_BYTES),
    };
    match path {
        Some(path) if path.starts_with("accumulator") && visible.accumulator > 0.0 => accumulator,
        // A computed path may lead anywhere.
        None if given.first().is_some_and(Value::is_object) => Size {
            bytes: visible.seen.bytes.max(accumulator.bytes),
            items: visible.seen.items.max(accumulator.items),
            fields: visible.seen.fields.max(accumulator.fields),
        },
        _ => visible.seen,
    }
}

fn estimate_loop(operator: &str, given: &[Value], visible: &Visible<'_>) -> Estimate {
    let mut parts = given.iter();
    let source = parts.next();
    let at_most =
        |visible: &Visible<'_>| source.map_or_else(|| scalar(0.0), |source| estimate(source, visible));
    let whole = at_most(&Visible {
        seen: visible.whole,
        ..*visible
    });
    let source = at_most(visible);
    let body = parts.next();
    let first = parts
        .next()
        .map_or_else(|| scalar(0.0), |part| estimate(part, visible));
    let rounds = source.items.max(1.0);
    let entry = Visible {
        // An entry has at most half as many values as bytes.
        seen: Size {
            bytes: source.bytes / rounds,
            items: source.bytes / 2.0 / rounds,
            fields: visible
                .whole
                .fields
                .min(1.0 + source.bytes / FIELD_BYTES / rounds),
        },
        whole: Size {
            bytes: whole.bytes,
            items: whole.bytes / 2.0,
            fields: visible.whole.fields,
        },
        accumulator: 0.0,
        ..*visible
    };
    let round_of = |visible: &Visible<'_>| body.map_or_else(|| scalar(0.0), |body| estimate(body, visible));
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
            let carried = |visible: Visible<'_>, bytes: f64| {
                round_of(&Visible {
                    accumulator: bytes,
                    ..visible
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
            let all = Visible {
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
