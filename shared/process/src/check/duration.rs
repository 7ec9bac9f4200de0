//! Reads durations: ISO 8601 texts and objects.

use std::time::Duration;

use jiff::SignedDuration;

use super::Checker;
use crate::definition::{Span, Template};
use crate::fault::Place;
use crate::limits::MAX_DURATION;
use crate::source::Tree;

/// Fields of an object, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("days", 86_400_000),
    ("hours", 3_600_000),
    ("minutes", 60_000),
    ("seconds", 1_000),
    ("milliseconds", 1),
];

impl Checker {
    /// Reads a duration, or an expression that computes one.
    pub(super) fn span(&mut self, at: &Place, tree: &Tree) -> Option<Span> {
        let template = match tree {
            Tree::Text(_) | Tree::Object(_) => self.template(at, tree)?,
            other => {
                return self.refuse(
                    at,
                    format!(
                        "Expected a duration such as PT5S or {{ seconds: 5 }}, found {}.",
                        other.kind()
                    ),
                );
            }
        };
        if !matches!(template, Template::Constant(_)) {
            return Some(Span::Computed(template));
        }
        match of_tree(tree) {
            Ok(duration) => Some(Span::Fixed(duration)),
            Err(message) => self.refuse(at, message),
        }
    }
}

pub(crate) fn of_tree(tree: &Tree) -> Result<Duration, String> {
    match tree {
        Tree::Text(text) => parse(text),
        Tree::Object(fields) => of_fields(fields),
        other => Err(format!("Expected a duration, found {}.", other.kind())),
    }
}

/// Parses an ISO 8601 duration such as `P1DT2H` or `PT0.5S`. A day has 24 hours. The error is a sentence.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = |reason: &str| {
        format!(
            "The duration '{}' {reason}.",
            text.chars().take(100).collect::<String>()
        )
    };
    let friendly = !text.starts_with('P');
    let span: jiff::Span = match text.parse() {
        Ok(span) if !friendly => span,
        _ => {
            return Err(wrong(
                "is not ISO 8601; write one such as PT5S, or an object such as { seconds: 5 }",
            ));
        }
    };
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(wrong("has years or months, which have no fixed length; use days"));
    }
    let length: SignedDuration = span
        .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
        .map_err(|_| wrong("is too long"))?;
    let length = Duration::try_from(length).map_err(|_| wrong("is negative"))?;
    bounded(length)
}

fn of_fields(fields: &[(String, Tree)]) -> Result<Duration, String> {
    if fields.is_empty() {
        return Err("The duration has no fields; write one such as { seconds: 5 }.".to_owned());
    }
    let mut total_ms = 0_u64;
    for (name, value) in fields {
        let Some((_, unit_ms)) = UNITS.iter().find(|(unit, _)| unit == name) else {
            let known: Vec<&str> = UNITS.iter().map(|(unit, _)| *unit).collect();
            return Err(format!(
                "The duration has the field '{name}'; known are: {}.",
                known.join(", ")
            ));
        };
        let count = match value {
            Tree::Number(number) => number.parse::<u64>().ok(),
            _ => None,
        };
        let Some(count) = count else {
            return Err(format!(
                "The field '{name}' of a duration is not a whole number of zero or more."
            ));
        };
        total_ms = count.saturating_mul(*unit_ms).saturating_add(total_ms);
    }
    bounded(Duration::from_millis(total_ms))
}

fn bounded(length: Duration) -> Result<Duration, String> {
    if length > MAX_DURATION {
        let days = MAX_DURATION.as_secs() / 86_400;
        return Err(format!("The duration is longer than {days} days."));
    }
    Ok(length)
}
