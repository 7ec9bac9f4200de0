//! Reads the examples of the API reference, and compares answers with them.
//!
//! Ids, times, secrets and durations differ with each run. An id of an answer is bound to the example's id at
//! the same place, and is replaced by it from then on, in requests as well.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

/// Endings of the names of fields whose value differs with each run.
const CHANGING: [&str; 13] = [
    "_bytes",
    "_duration",
    "signature_base",
    "hint",
    "_ms",
    "_secret",
    "_token",
    "duration",
    "expires_in",
    "task_id",
    "timestamp",
    "uri",
    "url",
];

#[derive(Clone, Debug)]
pub struct Example {
    operation: String,
    value: Value,
}

impl Example {
    #[track_caller]
    pub fn read(operation: &str) -> Self {
        let path = file(operation);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{operation}: {error}"));
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{operation}: {error}"));
        Self {
            operation: operation.to_owned(),
            value,
        }
    }

    /// Returns a part of the request: `path`, `query` or `body`.
    pub fn request(&self, part: &str) -> Option<&Value> {
        self.value["request"].get(part)
    }

    pub fn status(&self) -> u16 {
        let status = self.value["response"]["status"].as_u64().unwrap_or_default();
        u16::try_from(status).unwrap_or_default()
    }

    pub fn body(&self) -> Option<&Value> {
        self.value["response"].get("body")
    }

    /// Writes another body of the answer into the example's file.
    pub fn write_body(mut self, body: Value) {
        self.value["response"]["body"] = body;
        let text = serde_json::to_string_pretty(&self.value).expect("a value is JSON");
        std::fs::write(file(&self.operation), format!("{text}\n")).expect("the example can be written");
    }
}

fn file(operation: &str) -> PathBuf {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../infra/local/src/reference/examples"
    );
    PathBuf::from(folder).join(format!("{operation}.json"))
}

/// Maps actual ids to the ids in the examples.
#[derive(Debug, Default)]
pub struct Names(Vec<(String, String)>);

impl Names {
    /// Makes examples use `example` where the service uses `actual`.
    pub fn bind(&mut self, actual: &str, example: &str) {
        self.0.push((actual.to_owned(), example.to_owned()));
    }

    /// Replaces the example's ids in a value by the actual ones.
    pub fn actual(&self, example: &Value) -> Value {
        texts(example, &|text| self.actual_text(text))
    }

    /// Replaces the example's ids in a text by the actual ones.
    pub fn actual_text(&self, text: &str) -> String {
        let pairs = self.0.iter();
        pairs.fold(text.to_owned(), |text, (actual, example)| {
            text.replace(example, actual)
        })
    }

    fn example_text(&self, text: &str) -> String {
        let pairs = self.0.iter();
        pairs.fold(text.to_owned(), |text, (actual, example)| {
            text.replace(actual, example)
        })
    }

    fn is_bound(&self, actual: &str, example: &str) -> bool {
        let mut pairs = self.0.iter();
        pairs.any(|pair| pair.0 == actual || pair.1 == example)
    }

    /// Returns the example that would match an answer: `example` itself where it already matches.
    pub fn like(&mut self, field: &str, example: Option<&Value>, actual: &Value) -> Value {
        match (example, actual) {
            (example, Value::Object(actual)) => {
                let mut like = Map::new();
                for (name, value) in actual {
                    let before = example.and_then(|example| example.get(name));
                    like.insert(self.example_text(name), self.like(name, before, value));
                }
                Value::Object(like)
            }
            (example, Value::Array(actual)) => {
                let like = actual.iter().enumerate();
                let like = like.map(|(place, value)| {
                    self.like(field, example.and_then(|example| example.get(place)), value)
                });
                like.collect()
            }
            (Some(Value::String(example)), Value::String(actual)) => {
                json!(self.like_text(field, example, actual))
            }
            (None, Value::String(actual)) => json!(self.example_text(actual)),
            (Some(Value::Number(example)), Value::Number(actual)) if is_changing(field) => {
                json!(if example.is_f64() == actual.is_f64() {
                    example
                } else {
                    actual
                })
            }
            (_, actual) => actual.clone(),
        }
    }

    fn like_text(&mut self, field: &str, example: &str, actual: &str) -> String {
        let text = self.example_text(actual);
        if text == example {
            return text;
        }
        let same_shape = shape(example) == shape(&text);
        if is_id(example) && is_id(&text) && !self.is_bound(actual, example) {
            self.bind(actual, example);
            return example.to_owned();
        }
        let changes = is_time(example) || is_changing(field) || field == "stream";
        if changes && (same_shape || is_changing(field)) {
            return example.to_owned();
        }
        text
    }
}

fn texts(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => json!(change(text)),
        Value::Array(items) => items.iter().map(|item| texts(item, change)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(name, value)| (name.clone(), texts(value, change)))
                .collect()
        }
        other => other.clone(),
    }
}

fn is_changing(field: &str) -> bool {
    field == "key" || field == "body" || CHANGING.iter().any(|end| field.ends_with(end))
}

fn is_id(text: &str) -> bool {
    text.len() == 36 && shape(text).bytes().all(|byte| byte == b'0' || byte == b'-')
}

fn is_time(text: &str) -> bool {
    text.len() >= 20 && text.ends_with('Z') && text.as_bytes().get(4) == Some(&b'-')
}

/// Returns a text with a zero for each hexadecimal digit.
fn shape(text: &str) -> String {
    let letters = text.chars();
    letters
        .map(|letter| if letter.is_ascii_hexdigit() { '0' } else { letter })
        .collect()
}

pub fn all() -> BTreeSet<String> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../infra/local/src/reference/examples"
    );
    let files = std::fs::read_dir(folder).expect("there are examples");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    names
        .map(|name| name.trim_end_matches(".json").to_owned())
        .collect()
}
