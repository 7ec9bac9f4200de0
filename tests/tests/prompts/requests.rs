//! Starts the service and makes requests for the tests of prompt templates.

use serde_json::Value;
use tests::samples::prompt;
use tests::{Answer, Persona, Service};

pub async fn started() -> (Service, String) {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    (service, token)
}

/// Returns a valid body with one field changed.
pub fn with(field: &str, value: Value) -> Value {
    let mut body = prompt("Greeting");
    body[field] = value;
    body
}

#[track_caller]
pub fn refused(answer: Answer, part: &str) {
    let answer = answer.expect_error(400, "invalid_request");
    let message = answer.message();
    assert!(message.contains(part), "expected {part:?} in: {message}");
}
