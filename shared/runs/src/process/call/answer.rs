//! Reads the response of a service.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use platform::outbound::{HeaderMap, HeaderValue};
use process::Data;
use process::limits::MAX_OUTPUT_BYTES;
use serde_json::Value;

use super::content::{self, ContentType};
use super::error::{CallError, ErrorKind};

/// Maximum size of a body that an error keeps, in bytes: the history and the failure of the run hold it.
const MAX_REFUSAL_BYTES: usize = 64 * 1_024;

/// Encodings of answers that a call asks for.
pub(super) const ENCODINGS: &str = "gzip, deflate";

pub(super) struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Response {
    /// Undoes the compression of the body, within the limit of an answer.
    pub fn decompress(&mut self) -> Result<(), CallError> {
        let encoding = self.headers.get("content-encoding");
        let encoding = encoding.map(|value| {
            String::from_utf8_lossy(value.as_bytes())
                .trim()
                .to_ascii_lowercase()
        });
        let refused = |detail: String| CallError::new(ErrorKind::Communication, detail);
        let mut decoder: Box<dyn std::io::Read + '_> = match encoding.as_deref() {
            _ if self.body.is_empty() => return Ok(()),
            None | Some("" | "identity") => return Ok(()),
            Some("gzip" | "x-gzip") => Box::new(MultiGzDecoder::new(self.body.as_slice())),
            Some("deflate") => Box::new(ZlibDecoder::new(self.body.as_slice())),
            Some(other) => {
                return Err(refused(format!(
                    "The answer is compressed with '{other}', which the call did not ask for."
                )));
            }
        };
        let (mut body, limit) = (Vec::new(), MAX_OUTPUT_BYTES as u64 + 1);
        let read = decoder.by_ref().take(limit).read_to_end(&mut body);
        drop(decoder);
        if read.is_err() {
            return Err(refused(
                "The answer is not compressed as its header 'content-encoding' says.".to_owned(),
            ));
        }
        if body.len() > MAX_OUTPUT_BYTES {
            return Err(refused(format!(
                "The answer has more than the {MAX_OUTPUT_BYTES} bytes that a call takes."
            )));
        }
        self.body = body;
        self.headers.remove("content-encoding");
        self.headers.remove("content-length");
        Ok(())
    }

    /// Describes a response that is an error, for the `catch` of the task.
    pub fn refusal(&self) -> Data {
        let mut fields = vec![
            ("statusCode", Data::from(Value::from(self.status))),
            ("headers", Data::from(described(&self.headers))),
        ];
        if self.body.len() <= MAX_REFUSAL_BYTES {
            fields.push(("content", self.content()));
        }
        Data::object(fields)
    }

    pub fn content(&self) -> Data {
        if self.body.is_empty() {
            return Data::null();
        }
        let kind = self
            .headers
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .map(ContentType::of);
        let charset = kind.as_ref().and_then(|kind| kind.charset.as_deref());
        let Some(text) = content::text(&self.body, charset) else {
            return Data::text(&STANDARD.encode(&self.body));
        };
        let is_json = kind.is_none_or(|kind| kind.is_json());
        match Data::parse(&text) {
            Ok(data) if is_json => data,
            _ => Data::text(&text),
        }
    }
}

/// Returns the headers as an object; joins several values of a name as HTTP allows.
pub(super) fn described(headers: &HeaderMap) -> Value {
    let mut fields = serde_json::Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter();
        let values: Vec<_> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        fields.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    Value::Object(fields)
}

/// Returns whether a header `accept-encoding` names only encodings that [`Response::decompress`] reads.
pub(super) fn can_read(encodings: &HeaderValue) -> bool {
    let encodings = String::from_utf8_lossy(encodings.as_bytes()).to_ascii_lowercase();
    encodings.split(',').all(|encoding| {
        let name = encoding.split(';').next().unwrap_or_default().trim();
        matches!(name, "" | "identity" | "gzip" | "x-gzip" | "deflate")
    })
}
