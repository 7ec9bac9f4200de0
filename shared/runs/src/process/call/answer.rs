//! Builds the output of a call from the response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use platform::outbound::Exchange;
use process::Data;
use serde::{Deserialize, Serialize};

use super::request::{Request, described};

/// How much of the response becomes the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum Output {
    /// Body as Base64.
    Raw,
    /// Body: as JSON if it is JSON, else as text, or as Base64 where it is no text.
    Content,
    /// Request, status, headers and content.
    Response,
}

pub(super) fn output(output: Output, request: &Request, answer: &Exchange) -> Data {
    match output {
        Output::Raw => Data::text(&STANDARD.encode(&answer.body)),
        Output::Content => content(answer),
        Output::Response => Data::object([
            ("request", Data::from(request.described())),
            ("statusCode", Data::from(serde_json::Value::from(answer.status))),
            ("headers", Data::from(described(&answer.headers))),
            ("content", content(answer)),
        ]),
    }
}

fn content(answer: &Exchange) -> Data {
    if answer.body.is_empty() {
        return Data::null();
    }
    let Ok(text) = std::str::from_utf8(&answer.body) else {
        return Data::text(&STANDARD.encode(&answer.body));
    };
    let content_type = answer
        .headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let kind = content_type
        .and_then(|value| value.split(';').next())
        .map(str::trim);
    let is_json = kind.is_none_or(|kind| kind == "application/json" || kind.ends_with("+json"));
    match Data::parse(text) {
        Ok(data) if is_json => data,
        _ => Data::text(text),
    }
}
