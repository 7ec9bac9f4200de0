//! Implements the child process: evaluates expressions, and validates values against JSON Schemas.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use jaq_json::Val;
use jsonschema::{PatternOptions, ValidationError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::filter::{Filters, Source};
use super::json::parsed;
use crate::limits::MAX_OUTPUT_BYTES;

/// Maximum size of a compiled pattern of a schema, in bytes.
const MAX_COMPILED_BYTES: usize = 16 * 1_024 * 1_024;
/// Maximum length of a message, which may quote data, in characters.
const MAX_MESSAGE: usize = 300;

#[derive(Serialize, Deserialize)]
pub(super) enum Request<'a> {
    Evaluate {
        #[serde(borrow)]
        input: &'a RawValue,
        #[serde(borrow)]
        variables: BTreeMap<String, &'a RawValue>,
        /// Field names of the variable `secrets`.
        secrets: Vec<String>,
        sources: Vec<Source>,
    },
    Validate {
        #[serde(borrow)]
        schema: &'a RawValue,
        #[serde(borrow)]
        value: &'a RawValue,
        /// Maximum number of faults in the answer.
        faults: usize,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    /// One result per expression; none for a value that satisfies its schema.
    Done(Vec<Box<RawValue>>),
    /// Index of the failed expression, or 0 for a schema, and the reason.
    Failed(usize, String),
}

/// Executes a task of the child. Compiled expressions are kept for later tasks.
pub(super) fn work(request: &[u8]) -> Vec<u8> {
    thread_local! {
        static FILTERS: RefCell<Filters> = RefCell::default();
    }
    let answer = match serde_json::from_slice(request) {
        Ok(request) => FILTERS.with_borrow_mut(|filters| answer(&request, filters)),
        Err(error) => Answer::Failed(0, format!("the request is not read: {error}")),
    };
    serde_json::to_vec(&answer).unwrap_or_default()
}

fn answer(request: &Request<'_>, filters: &mut Filters) -> Answer {
    match request {
        Request::Evaluate {
            input,
            variables,
            secrets,
            sources,
        } => evaluate(input, variables, secrets, sources, filters),
        Request::Validate {
            schema,
            value,
            faults,
        } => match validate(schema, value, *faults) {
            Ok(()) => Answer::Done(Vec::new()),
            Err(messages) => {
                let messages: Vec<String> = messages.iter().map(|message| shortened(message)).collect();
                Answer::Failed(0, messages.join("; "))
            }
        },
    }
}

fn evaluate(
    input: &RawValue,
    variables: &BTreeMap<String, &RawValue>,
    secrets: &[String],
    sources: &[Source],
    filters: &mut Filters,
) -> Answer {
    let failed = |index: usize, message: String| Answer::Failed(index, shortened(&message));
    let input = match parsed(input.get()) {
        Ok(input) => input,
        Err(message) => return failed(0, message),
    };
    let mut values: HashMap<&str, Val> = HashMap::new();
    for (name, json) in variables {
        match parsed(json.get()) {
            Ok(value) => values.insert(name, value),
            Err(message) => return failed(0, message),
        };
    }
    let (mut results, mut size) = (Vec::with_capacity(sources.len()), 0);
    for (index, source) in sources.iter().enumerate() {
        let value = |name: &String| values.get(name.as_str()).cloned().unwrap_or_default();
        let variables = source.variables.iter().map(value).collect();
        let result = filters.run(source, secrets, variables, input.clone());
        let result = match result.map(RawValue::from_string) {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => return failed(index, error.to_string()),
            Err(message) => return failed(index, message),
        };
        size += result.get().len();
        if size > MAX_OUTPUT_BYTES {
            return failed(
                index,
                format!("the results together are larger than {MAX_OUTPUT_BYTES} bytes"),
            );
        }
        results.push(result);
    }
    Answer::Done(results)
}

/// Returns the first faults.
fn validate(schema: &RawValue, value: &RawValue, faults: usize) -> Result<(), Vec<String>> {
    let read =
        |json: &RawValue| serde_json::from_str::<Value>(json.get()).map_err(|error| vec![error.to_string()]);
    let (schema, value) = (read(schema)?, read(value)?);
    // Matches in time linear in the size of the value.
    let linear = PatternOptions::regex()
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES);
    let validator = jsonschema::options()
        .with_pattern_options(linear)
        .build(&schema)
        .map_err(|error| vec![format!("the JSON Schema is not valid: {}", error.masked())])?;
    // The first fault needs no list of all of them.
    let errors: Vec<_> = match faults {
        1 => validator.validate(&value).err().into_iter().collect(),
        _ => validator.iter_errors(&value).take(faults).collect(),
    };
    if errors.is_empty() {
        return Ok(());
    }
    let message = |error: &ValidationError<'_>| {
        let place = error.instance_path().to_string();
        let message = error.masked().to_string();
        match place.is_empty() {
            true => message,
            false => format!("{message} at '{place}'"),
        }
    };
    Err(errors.iter().map(message).collect())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
