//! Converts failed requests to a server by status and body.

use std::time::Duration;

use platform::Clock;
use platform::config::Secret;
use platform::outbound::{Opened, retry_after_ms};
use serde_json::Value;

use super::response::whole;
use crate::provider::Failure;

/// Most bytes of the body of a failure that are read.
const MAX_BYTES: u64 = 64 * 1_024;

/// Converts a response with another status than 200. Reads the body only where it is JSON.
pub(super) async fn read(
    response: Opened,
    clock: &Clock,
    key: Option<&Secret>,
    patience: Duration,
) -> Failure {
    let status = response.status;
    let header = |name: &str| response.headers.get(name).and_then(|value| value.to_str().ok());
    let pause_ms = header("retry-after-ms")
        .and_then(|text| text.trim().parse().ok())
        .or_else(|| retry_after_ms(header("retry-after")?, clock.now()));
    let mut response = response.capped(MAX_BYTES);
    let body = whole(&mut response, patience).await.unwrap_or_default();
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    // Gemini's endpoint wraps the object in a list.
    let said = said.get(0).unwrap_or(&said);
    let error = said.get("error").unwrap_or(said);
    let sentence = without_key(&sentence(error), key);
    Failure::of_status(status, code(error), &sentence, pause_ms)
}

/// Converts an error event of a stream, which has no status of its own.
pub(super) fn of_event(error: &Value) -> Failure {
    let code_number = error.get("code").and_then(Value::as_u64);
    let status = code_number
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code));
    let status = status.unwrap_or(match code(error) {
        Some("rate_limit_exceeded" | "insufficient_quota") => 429,
        Some("invalid_request_error" | "content_filter" | "context_length_exceeded") => 400,
        _ => 500,
    });
    Failure::of_status(status, code(error), &sentence(error), None)
}

fn code(error: &Value) -> Option<&str> {
    let field = |name| error.get(name).and_then(Value::as_str);
    field("code").or_else(|| field("type"))
}

fn sentence(error: &Value) -> String {
    let told = error
        .get("message")
        .or_else(|| error.get("detail"))
        .unwrap_or(error);
    match told {
        Value::String(sentence) => sentence.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Removes the key: a server may quote the key that it refuses, or the whole request.
fn without_key(sentence: &str, key: Option<&Secret>) -> String {
    match key.map(|key| key.expose().trim()).filter(|key| !key.is_empty()) {
        Some(key) => sentence.replace(key, "…"),
        None => sentence.to_owned(),
    }
}
