//! Parses answers of the platform's API.

use platform::{Error, ErrorKind, Result};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// Null for an empty body.
    pub body: Value,
}

impl Answer {
    /// 503 for a body that is not JSON: it is not the API that answered.
    pub(super) fn new(status: u16, bytes: &[u8]) -> Result<Self> {
        let body = match bytes {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes).map_err(|error| {
                Error::unavailable(format!(
                    "the API answered {status} with what is not JSON: {error}"
                ))
            })?,
        };
        Ok(Self { status, body })
    }

    /// Returns the body of a success. An error answer becomes the error that it reports.
    pub fn success(self) -> Result<Value> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let message = self.body.get("message").and_then(Value::as_str);
        let message = message.unwrap_or("The API refused the call.");
        let known = ErrorKind::ALL
            .into_iter()
            .find(|kind| kind.status() == self.status);
        let kind = match self.status {
            // API Gateway answers 429 above its rate limit, and 502 or 504 when a function does not answer.
            429 | 500.. => ErrorKind::Unavailable,
            _ => known.unwrap_or(ErrorKind::InvalidRequest),
        };
        Err(Error::new(kind, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> Error {
        Answer::new(status, body.as_bytes())
            .unwrap()
            .success()
            .unwrap_err()
    }

    #[test]
    fn an_error_answer_keeps_its_kind_and_its_sentence() {
        let refused = error(
            403,
            r#"{"status":403,"message":"This needs the permission content:write."}"#,
        );
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        assert_eq!(refused.message(), "This needs the permission content:write.");
        assert!(!refused.is_transient());
        for (status, kind) in [
            (400, ErrorKind::InvalidRequest),
            (404, ErrorKind::NotFound),
            (418, ErrorKind::InvalidRequest),
            (429, ErrorKind::Unavailable),
            (500, ErrorKind::Unavailable),
            (504, ErrorKind::Unavailable),
        ] {
            assert_eq!(error(status, "{}").kind(), kind, "{status}");
        }
    }

    #[test]
    fn an_empty_body_is_null_and_a_page_of_a_proxy_is_no_answer() {
        assert_eq!(Answer::new(204, b"").unwrap().success().unwrap(), Value::Null);
        assert!(Answer::new(200, b"<html>").unwrap_err().is_transient());
    }
}
