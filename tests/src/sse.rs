//! Reads server-sent events as a client does.

use reqwest::Response;
use serde_json::Value;

use crate::runs::WITHIN;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    pub id: Option<String>,
    /// Its `event`: the type.
    pub event: Option<String>,
    /// Its `data` as JSON; null where it has none.
    pub data: Value,
    /// Its `retry`: milliseconds after which a client that lost the stream reconnects.
    pub retry: Option<String>,
    pub comments: Vec<String>,
}

pub struct Listener {
    what: String,
    response: Response,
    text: Vec<u8>,
}

impl Listener {
    pub(crate) fn new(what: String, response: Response) -> Self {
        assert_eq!(response.status(), 200, "{what}");
        Self {
            what,
            response,
            text: Vec::new(),
        }
    }

    /// Returns a header's value; empty where it is missing.
    pub fn header(&self, name: &str) -> &str {
        let value = self.response.headers().get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns the next frame; None at the end of the stream.
    pub async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(end) = self.text.windows(2).position(|end| end == b"\n\n") {
                let rest = self.text.split_off(end + 2);
                let frame = std::mem::replace(&mut self.text, rest);
                return Some(parsed(&String::from_utf8(frame).expect("events are UTF-8")));
            }
            let chunk = tokio::time::timeout(WITHIN, self.response.chunk()).await;
            let Ok(chunk) = chunk else {
                panic!("{}: no event within {WITHIN:?}", self.what);
            };
            match chunk.expect("the stream goes on or ends properly") {
                Some(bytes) => self.text.extend_from_slice(&bytes),
                None => {
                    assert!(self.text.is_empty(), "{}: the last event has no end", self.what);
                    return None;
                }
            }
        }
    }

    /// Returns the next frame with data; None at the end of the stream.
    pub async fn event(&mut self) -> Option<Frame> {
        loop {
            let frame = self.frame().await?;
            if !frame.data.is_null() {
                return Some(frame);
            }
        }
    }

    /// Returns the `message` of the next event.
    pub async fn message(&mut self) -> String {
        let event = self.event().await.expect("the stream goes on");
        event.data["message"].as_str().unwrap_or_default().to_owned()
    }
}

fn parsed(block: &str) -> Frame {
    let mut frame = Frame::default();
    for line in block.lines().filter(|line| !line.is_empty()) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            "" => frame.comments.push(value),
            "id" => frame.id = Some(value),
            "event" => frame.event = Some(value),
            "retry" => frame.retry = Some(value),
            "data" => frame.data = serde_json::from_str(&value).expect("the data is JSON on one line"),
            _ => panic!("an unknown field: {line}"),
        }
    }
    frame
}
