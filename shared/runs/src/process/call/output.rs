//! Builds the output of a call from the response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use process::Data;
use process::definition::HttpOutput;
use serde::{Deserialize, Serialize};

use super::answer::{Response, described};
use super::request::Request;

/// How much of the response becomes the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Body as Base64.
    Raw,
    /// Body: as JSON if it is JSON, else as text in its character set, or as Base64 where it is no text.
    Content,
    /// Request, status, headers and content.
    Response,
}

impl From<HttpOutput> for Output {
    fn from(output: HttpOutput) -> Self {
        match output {
            HttpOutput::Raw => Self::Raw,
            HttpOutput::Content => Self::Content,
            HttpOutput::Response => Self::Response,
        }
    }
}

pub(super) fn output(output: Output, request: &Request, answer: &Response) -> Data {
    match output {
        Output::Raw => Data::text(&STANDARD.encode(&answer.body)),
        Output::Content => answer.content(),
        Output::Response => Data::object([
            ("request", Data::from(request.described())),
            ("statusCode", Data::from(serde_json::Value::from(answer.status))),
            ("headers", Data::from(described(&answer.headers))),
            ("content", answer.content()),
        ]),
    }
}
