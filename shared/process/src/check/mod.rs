//! Checks a definition, and reports all faults at once with their places.

mod call;
mod document;
mod duration;
mod event;
mod jumps;
mod policy;
mod reader;
mod reusable;
mod schema;
mod task;
mod value;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use serde_json::Value;

pub(crate) use duration::of_tree as duration_of;
pub use duration::parse as parse_duration;

use crate::definition::{Authentication, Definition, ErrorTemplate, Retry, Span};
use crate::fault::{Fault, Place};
use crate::limits::{CHECK_STACK_BYTES, MAX_FAULTS};
use crate::source;

/// A document to check: a JSON or YAML text, or a JSON value.
#[derive(Debug)]
pub enum Source<'a> {
    Text(&'a str),
    /// Its numbers beyond 64 bits are already rounded.
    Value(&'a Value),
}

impl<'a> From<&'a str> for Source<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Source<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a Value> for Source<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

/// Returns the definition, or its faults in the order in which they were found, at most
/// [`MAX_FAULTS`].
pub fn check<'a>(input: impl Into<Source<'a>>) -> Result<Definition, Vec<Fault>> {
    let input = input.into();
    // Parsers recurse, and the size of the caller's stack is unknown.
    let checked = thread::scope(|scope| {
        let checker = thread::Builder::new()
            .name("check".to_owned())
            .stack_size(CHECK_STACK_BYTES)
            .spawn_scoped(scope, || checked(&input));
        checker.ok().and_then(|checker| checker.join().ok())
    });
    checked.unwrap_or_else(|| {
        Err(vec![Fault {
            pointer: String::new(),
            message: "The definition could not be checked; make it smaller.".to_owned(),
        }])
    })
}

fn checked(input: &Source<'_>) -> Result<Definition, Vec<Fault>> {
    let tree = match input {
        Source::Text(text) => source::read(text),
        Source::Value(value) => source::read_value(value),
    };
    let tree = tree.map_err(|fault| vec![fault])?;
    let mut checker = Checker::default();
    let definition = checker.definition(&tree);
    match definition {
        Some(definition) if checker.faults.is_empty() => Ok(definition),
        _ => Err(checker.faults),
    }
}

/// State of a check. A method that returns None has reported the reason.
#[derive(Default)]
struct Checker {
    faults: Vec<Fault>,
    tasks: usize,
    levels: usize,
    /// Patterns of event filters so far.
    patterns: usize,
    /// Variables of the enclosing loops and `catch`, without `$`.
    variables: Vec<String>,
    secrets: Vec<String>,
    authentications: BTreeMap<String, Option<Authentication>>,
    errors: BTreeMap<String, Option<ErrorTemplate>>,
    retries: BTreeMap<String, Option<Retry>>,
    timeouts: BTreeMap<String, Option<Span>>,
    functions: BTreeSet<String>,
    /// Functions that the current function calls, with the place of each call.
    calls: Vec<(String, Place)>,
}

impl Checker {
    fn report(&mut self, at: &Place, message: impl Into<String>) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault {
                pointer: at.pointer().to_owned(),
                message: message.into(),
            });
        }
    }

    /// Reports a fault and returns None.
    fn refuse<T>(&mut self, at: &Place, message: impl Into<String>) -> Option<T> {
        self.report(at, message);
        None
    }
}
