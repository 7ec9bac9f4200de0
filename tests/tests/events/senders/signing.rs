//! Signs requests as senders do, by the documented rule of each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use tests::events::Channel;
use tests::{Events, Method, Request};

#[derive(Clone, Debug)]
pub struct Sending {
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    /// What the sender appends to the URL.
    pub query: String,
}

impl Sending {
    pub fn json(body: &Value) -> Self {
        Self::new("application/json", body.to_string())
    }

    pub fn form(body: &str) -> Self {
        Self::new("application/x-www-form-urlencoded", body.to_owned())
    }

    pub fn new(kind: &str, body: String) -> Self {
        Self {
            headers: vec![("content-type", kind.to_owned())],
            body,
            query: String::new(),
        }
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.into()));
        self
    }

    #[must_use]
    pub fn query(mut self, query: impl Into<String>) -> Self {
        self.query = query.into();
        self
    }

    pub fn to(&self, events: &Events, channel: &Channel) -> Request {
        self.by(Method::POST, events, channel)
    }

    pub fn by(&self, method: Method, events: &Events, channel: &Channel) -> Request {
        let url = format!("{}{}", channel.url, self.query);
        let request = events.request(method, &url).body(self.body.clone());
        self.headers
            .iter()
            .fold(request, |request, (name, value)| request.header(name, value))
    }
}

pub fn sha256(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub fn sha1(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha1>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub fn sha512(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha512>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub fn sign_github(sending: Sending, secret: &str) -> Sending {
    let tag = hex::encode(sha256(secret.as_bytes(), &sending.body));
    sending.with("x-hub-signature-256", format!("sha256={tag}"))
}

pub fn sign_slack(sending: Sending, secret: &str, at: i64) -> Sending {
    let tag = hex::encode(sha256(secret.as_bytes(), &format!("v0:{at}:{}", sending.body)));
    sending
        .with("x-slack-request-timestamp", at.to_string())
        .with("x-slack-signature", format!("v0={tag}"))
}

pub fn sign_stripe(sending: Sending, secret: &str, at: i64) -> Sending {
    let tag = hex::encode(sha256(secret.as_bytes(), &format!("{at}.{}", sending.body)));
    sending.with("stripe-signature", format!("t={at},v1={tag},v0=ab"))
}

pub fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Seconds since the Unix epoch.
#[expect(clippy::disallowed_methods, reason = "a sender has a clock of its own")]
pub fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Returns a time in Unix seconds as ISO 8601.
pub fn iso(at: i64) -> String {
    jiff::Timestamp::from_second(at).unwrap().to_string()
}

/// Creates a channel of a preset, with the secret of the sender.
pub async fn channel(events: &Events, preset: &str, secret: Option<&str>) -> Channel {
    let mut body = json!({ "name": preset, "source": preset, "preset": preset });
    if let Some(secret) = secret {
        body["signing_secret"] = json!(secret);
    }
    events.channel(&body).await
}

/// Returns the status with which a channel accepts an event: some senders take no 202.
pub fn accepted(channel: &Channel) -> u16 {
    let status = channel.created["accepted_status"].as_u64().unwrap_or(202);
    u16::try_from(status).unwrap()
}

/// Sends a request. Returns the event that it becomes.
pub async fn send(events: &Events, path: &str, sending: &Sending, channel: &Channel) -> Value {
    let before = events.receiver.received_at(path).len();
    let answer = sending.to(events, channel).await.expect_status(accepted(channel));
    let requests = events.received(path, before + 1).await;
    let event = requests.last().unwrap().json()["event"].clone();
    assert_eq!(event["event_id"], answer.body["event_id"]);
    event
}
