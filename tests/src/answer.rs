//! Holds an answer, and the assertions on it.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Answer, read to its end.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Method and path of the request.
    pub request: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
    /// Body as JSON; null where it is not JSON.
    pub body: Value,
}

impl Answer {
    pub(crate) fn new(request: String, status: StatusCode, headers: HeaderMap, bytes: Vec<u8>) -> Self {
        Self {
            request,
            status: status.as_u16(),
            headers,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
            bytes,
        }
    }

    /// Returns itself if it has this status.
    #[track_caller]
    pub fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.request, self.text());
        self
    }

    /// Returns itself if it is an error of this status and code with exactly the documented keys and headers.
    #[track_caller]
    pub fn expect_error(self, status: u16, code: &str) -> Self {
        let answer = self.expect_status(status);
        answer.check_error();
        assert_eq!(
            answer.body["error"],
            code,
            "{}: {}",
            answer.request,
            answer.text()
        );
        answer
    }

    /// Asserts the contract's form of an error: content type, keys, request id, `WWW-Authenticate`.
    #[track_caller]
    pub fn check_error(&self) {
        let what = format!("{}: {} {}", self.request, self.status, self.text());
        assert_eq!(self.header("content-type"), "application/json", "{what}");
        let object = self.body.as_object().expect("an error's body is an object");
        let keys: BTreeSet<_> = object.keys().map(String::as_str).collect();
        let mut documented = BTreeSet::from(["error", "message", "request_id", "status"]);
        documented.extend(keys.intersection(&BTreeSet::from([
            "column", "details", "errors", "faults", "field", "line",
        ])));
        assert_eq!(keys, documented, "{what}");
        assert_eq!(self.body["status"], self.status, "{what}");
        assert!(self.body["error"].is_string(), "{what}");
        assert_ne!(self.message(), "", "{what}");
        assert_eq!(self.body["request_id"], self.header("x-request-id"), "{what}");
        if self.status == 401 {
            assert_eq!(self.header("www-authenticate"), "Bearer", "{what}");
        }
    }

    /// Returns a header's value; empty where it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    #[track_caller]
    pub fn id(&self) -> String {
        match self.body["id"].as_str() {
            Some(id) => id.to_owned(),
            None => panic!("{}: no id in {}", self.request, self.text()),
        }
    }

    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// Returns one field of every element of the body, which is an array.
    #[track_caller]
    pub fn each(&self, field: &str) -> Vec<Value> {
        let Some(items) = self.body.as_array() else {
            panic!("{}: not an array: {}", self.request, self.text());
        };
        items.iter().map(|item| item[field].clone()).collect()
    }
}
