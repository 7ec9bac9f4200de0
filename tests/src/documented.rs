//! Checks that an answer conforms to the OpenAPI document: its status is listed, and its body matches the
//! schema.

use std::sync::OnceLock;

use jsonschema::Validator;
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::answer::Answer;

struct Operation {
    id: String,
    method: Method,
    /// Segments of the path; those of the ingest endpoint start after its base URL.
    template: Vec<String>,
    responses: Value,
    validators: Vec<(u16, OnceLock<Option<Validator>>)>,
}

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        serde_json::from_str(include_str!("../../infra/openapi.json")).expect("infra/openapi.json is JSON")
    })
}

fn operations() -> &'static [Operation] {
    static OPERATIONS: OnceLock<Vec<Operation>> = OnceLock::new();
    OPERATIONS.get_or_init(|| {
        let mut operations = Vec::new();
        for (path, item) in document()["paths"].as_object().expect("the document has paths") {
            for (method, operation) in item.as_object().expect("a path is an object") {
                if let Some(id) = operation["operationId"].as_str() {
                    let responses = operation["responses"].clone();
                    let statuses = responses.as_object().into_iter().flatten();
                    let statuses = statuses.filter_map(|(status, _)| status.parse().ok());
                    operations.push(Operation {
                        id: id.to_owned(),
                        method: method.to_uppercase().parse().expect("a method"),
                        template: path.split('/').map(str::to_owned).collect(),
                        validators: statuses.map(|status| (status, OnceLock::new())).collect(),
                        responses,
                    });
                }
            }
        }
        // A literal segment is a better match than a parameter.
        operations.sort_by_key(|operation| {
            let parts = operation.template.iter();
            parts.filter(|part| part.starts_with('{')).count()
        });
        operations
    })
}

/// Panics where an answer contradicts the document. Ignores a request that belongs to no operation.
#[track_caller]
pub fn check(method: &Method, url: &Url, answer: &Answer) {
    // A 405 means that the path belongs to an operation with another method.
    let Some(operation) = find(method, url.path()).filter(|_| answer.status != 405) else {
        return;
    };
    // A channel's handshakes and its `accepted_status` answer as its owner says.
    if operation.id == "ingestEvent" && (200..300).contains(&answer.status) && answer.status != 202 {
        return;
    }
    let validator = operation
        .validators
        .iter()
        .find(|(status, _)| *status == answer.status);
    let Some((_, validator)) = validator else {
        panic!(
            "{}: the document does not list {} for {}: {}",
            answer.request,
            answer.status,
            operation.id,
            answer.text()
        );
    };
    // A body that nests deeper than serde_json's limit is not read.
    let is_read = !answer.body.is_null() || answer.bytes == b"null";
    let is_json = is_read && answer.header("content-type").starts_with("application/json");
    let validator = validator.get_or_init(|| operation.validator(answer.status));
    let (Some(validator), true) = (validator, is_json && method != Method::HEAD) else {
        return;
    };
    let faults: Vec<_> = validator
        .iter_errors(&answer.body)
        .map(|fault| format!("at '{}': {fault}", fault.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "{}: {} of {} is not as the document says:\n{}\n{}",
        answer.request,
        answer.status,
        operation.id,
        faults.join("\n"),
        answer.text()
    );
}

impl Operation {
    /// Returns None for an answer that is not JSON.
    fn validator(&self, status: u16) -> Option<Validator> {
        let mut response = &self.responses[status.to_string()];
        if let Some(reference) = response["$ref"].as_str() {
            response = document().pointer(reference.trim_start_matches('#'))?;
        }
        let schema = response["content"]["application/json"].get("schema")?;
        let schema = json!({ "allOf": [schema], "components": document()["components"] });
        Some(jsonschema::validator_for(&schema).expect("a response schema is valid"))
    }
}

/// Finds the operation of a path, in which a parameter matches any non-empty segment.
fn find(method: &Method, path: &str) -> Option<&'static Operation> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let path = path.find("/api/v1/").map_or(path, |at| &path[at..]);
    let path = path.find("/webhooks/events/").map_or(path, |at| &path[at..]);
    let parts: Vec<_> = path.split('/').collect();
    operations().iter().find(|operation| {
        let is_method = operation.method == *method;
        is_method
            && operation.template.len() == parts.len()
            && operation
                .template
                .iter()
                .zip(&parts)
                .all(|(template, part)| template == part || (template.starts_with('{') && !part.is_empty()))
    })
}
