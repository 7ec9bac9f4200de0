//! Builds the output of a call from the response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use process::Data;
use serde::{Deserialize, Serialize};

use super::content::{self, ContentType};
use super::request::{Request, Response, described};

/// Maximum size of a body that an error keeps, in bytes: the history and the failure of the run hold it.
const MAX_REFUSAL_BYTES: usize = 64 * 1_024;

/// How much of the response becomes the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::process) enum Output {
    /// Body as Base64.
    Raw,
    /// Body: as JSON if it is JSON, else as text in its character set, or as Base64 where it is no text.
    Content,
    /// Request, status, headers and content.
    Response,
}

pub(super) fn output(output: Output, request: &Request, answer: &Response) -> Data {
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

/// Describes a response that is an error, for the `catch` of the task.
pub(super) fn refusal(answer: &Response) -> Data {
    let mut fields = vec![
        ("statusCode", Data::from(serde_json::Value::from(answer.status))),
        ("headers", Data::from(described(&answer.headers))),
    ];
    if answer.body.len() <= MAX_REFUSAL_BYTES {
        fields.push(("content", content(answer)));
    }
    Data::object(fields)
}

fn content(answer: &Response) -> Data {
    if answer.body.is_empty() {
        return Data::null();
    }
    let kind = answer
        .headers
        .get("content-type")
        .and_then(|value| value.to_str().ok())
        .map(ContentType::of);
    let charset = kind.as_ref().and_then(|kind| kind.charset.as_deref());
    let Some(text) = content::text(&answer.body, charset) else {
        return Data::text(&STANDARD.encode(&answer.body));
    };
    let is_json = kind.is_none_or(|kind| kind.is_json());
    match Data::parse(&text) {
        Ok(data) if is_json => data,
        _ => Data::text(&text),
    }
}
