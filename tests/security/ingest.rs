//! Tests invalid credentials of ingest channels: each refusal has the same bytes, whatever the fault.

use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD as BASE64, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE};
use futures::future::join_all;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::events::Channel;
use tests::{Answer, Events, Method, Persona, Request};

use crate::bodies::exchange;

const CASES: &str = include_str!("data/ingest.txt");
const TOKENS: &str = include_str!("data/ingest_tokens.txt");
const PATHS: &str = include_str!("data/ingest_paths.txt");
/// Concurrent requests.
const AT_ONCE: usize = 16;
const BODY: &str = r#"{"action":"opened","number":7}"#;
/// Secret of all signed channels, and the body's HMAC-SHA-1 under it, computed with Python's `hmac`.
const SECRET: &str = "the secret of one sender, 3";
const SHA1: &str = "5b63e040eaa49a5cdc9c1e213b80ce5b4bc85e9e";
/// Id of every request, so that refusals can be compared byte for byte.
const REQUEST_ID: &str = "one-request";

fn hmac(secret: &str, body: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key will do");
    mac.update(body.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex_of(secret: &str, body: &str) -> String {
    hex::encode(hmac(secret, body))
}

/// Returns another letter.
fn other(letter: &str) -> &'static str {
    if letter == "A" { "B" } else { "A" }
}

/// Returns the rows of a file: its lines without empty ones and comments.
fn rows(file: &str) -> impl Iterator<Item = &str> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
}

fn filled(text: &str, values: &[(&str, String)]) -> String {
    let replace = |text: String, (name, value): &(&str, String)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(text.to_owned(), replace)
}

/// Channels in every state, by the names that rows use for them.
struct Channels {
    events: Events,
    channels: HashMap<&'static str, Channel>,
    /// Tokens and secrets from before their rotation.
    old: HashMap<&'static str, String>,
}

impl Channels {
    async fn start() -> Self {
        let events = Events::start().await;
        let hub = json!({ "header": "X-Hub-Signature-256", "prefix": "sha256=" });
        let sha1 = json!({ "header": "x-hub-signature", "prefix": "sha1=", "algorithm": "sha1" });
        let base64 = json!({ "header": "x-signature", "encoding": "base64" });
        let mut channels = HashMap::new();
        for (name, signature) in [
            ("plain", None),
            ("other", None),
            ("hub", Some(&hub)),
            ("sha1", Some(&sha1)),
            ("base64", Some(&base64)),
            ("off", None),
            ("off-hub", Some(&hub)),
            ("gone", None),
            ("gone-hub", Some(&hub)),
            ("rotated", None),
            ("rotated-hub", Some(&hub)),
            ("cleared", Some(&hub)),
            ("signed", None),
        ] {
            let mut body = json!({ "name": name, "source": "tests" });
            if let Some(signature) = signature {
                body["signature"] = signature.clone();
                body["signing_secret"] = SECRET.into();
            }
            channels.insert(name, events.channel(&body).await);
        }
        let mut old = HashMap::new();
        for (name, change) in [
            ("off", json!({ "enabled": false })),
            ("off-hub", json!({ "enabled": false })),
            ("rotated", json!({ "rotate_token": true })),
            (
                "rotated-hub",
                json!({ "rotate_signing_secret": true, "rotate_token": true }),
            ),
            ("cleared", json!({ "signature": null })),
            ("signed", json!({ "signature": hub })),
        ] {
            let channel = channels.get_mut(name).expect("it is made");
            let path = format!("/events/channels/{}", channel.id());
            let changed = events.put(&events.token, &path, &change).await.expect_status(200);
            old.insert(name, channel.token().to_owned());
            for field in ["ingest_token", "signing_secret"] {
                if changed.body[field].is_string() {
                    channel.created[field] = changed.body[field].clone();
                }
            }
        }
        for name in ["gone", "gone-hub"] {
            let path = format!("/events/channels/{}", channels[name].id());
            events.delete(&events.token, &path).await.expect_status(200);
        }
        Self {
            events,
            channels,
            old,
        }
    }

    /// Returns the placeholders of rows, with their values for a channel.
    fn values(&self, name: &str) -> Vec<(&'static str, String)> {
        let channel = &self.channels[name];
        let secret = Some(channel.secret())
            .filter(|secret| !secret.is_empty())
            .unwrap_or(SECRET);
        let (token, hex) = (channel.token(), hex_of(secret, BODY));
        let base64 = BASE64.encode(hmac(secret, BODY));
        let pretty =
            serde_json::to_string_pretty(&serde_json::from_str::<Value>(BODY).expect("JSON")).expect("JSON");
        vec![
            ("token", token.to_owned()),
            ("old", self.old.get(name).cloned().unwrap_or_default()),
            ("other", self.channels["other"].token().to_owned()),
            ("secret", secret.to_owned()),
            ("HEX", hex.to_uppercase()),
            ("short", hex[..62].to_owned()),
            ("half", hex[..40].to_owned()),
            (
                "flipped",
                format!("{}{}", &hex[..63], if hex.ends_with('0') { "1" } else { "0" }),
            ),
            ("zeros", "0".repeat(64)),
            ("hexbase64", BASE64.encode(&hex)),
            ("hex", hex),
            ("base64url", BASE64_URL_SAFE.encode(hmac(secret, BODY))),
            ("unpadded", BASE64_STANDARD_NO_PAD.encode(hmac(secret, BODY))),
            ("base64", base64),
            ("sha1", SHA1.to_owned()),
            ("hash", hex::encode(Sha256::digest(BODY))),
            ("by_other", hex_of("another secret", BODY)),
            ("by_empty", hex_of("", BODY)),
            ("by_token", hex_of(token, BODY)),
            ("by_id", hex_of(channel.id(), BODY)),
            ("by_upper", hex_of(&secret.to_uppercase(), BODY)),
            ("by_trimmed", hex_of(&secret[..secret.len() - 1], BODY)),
            ("by_old", hex_of(SECRET, BODY)),
            ("of_empty", hex_of(secret, "")),
            ("of_pretty", hex_of(secret, &pretty)),
            ("of_changed", hex_of(secret, &BODY.replace('7', "8"))),
            ("of_line", hex_of(secret, &format!("{BODY}\n"))),
            ("of_hash", hex_of(secret, &hex::encode(Sha256::digest(BODY)))),
        ]
    }

    /// Returns the request of a case such as `plain | GET | name: value | ?query | body: {}`.
    fn request(&self, case: &str) -> Request {
        let mut parts = case.split(" | ");
        let name = parts.next().unwrap_or_default();
        let values = self.values(name);
        let (mut method, mut query, mut body) = (Method::POST, String::new(), BODY.to_owned());
        let mut headers = Vec::new();
        for part in parts.map(|part| filled(part, &values)) {
            match part.split_once(": ").or(part.split_once(':')) {
                _ if part.starts_with('?') => query = part,
                None => method = part.parse().expect("it is a method"),
                Some(("body", text)) => body = text.to_owned(),
                Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            }
        }
        let url = format!("{}{query}", self.channels[name].url);
        let mut request = self
            .events
            .request(method, &url)
            .header("x-request-id", REQUEST_ID);
        for (name, value) in headers {
            request = request.header(&name, &value);
        }
        request.body(body)
    }

    /// Returns the answer that every refusal must equal.
    async fn refusal(&self) -> Answer {
        let nothing = self.request("plain").await;
        let refusal = nothing.expect_error(401, "unauthenticated");
        let expected = json!({
            "status": 401, "error": "unauthenticated", "request_id": REQUEST_ID,
            "message": "The channel does not exist, or the token or signature is missing or wrong.",
        });
        assert_eq!(refusal.body, expected);
        refusal
    }
}

/// Returns an answer's headers and body, without its date and the headers of AWS.
fn visible_parts(answer: &Answer) -> (Vec<(String, String)>, String) {
    let text = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        (
            name.to_string(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    };
    let mut headers: Vec<_> = answer.headers.iter().map(text).collect();
    headers
        .retain(|(name, _)| !["date", "connection"].contains(&name.as_str()) && !name.starts_with("x-amzn-"));
    headers.sort();
    (headers, answer.text())
}

/// Returns the fault of an answer that must have this status; every 401 must equal `refusal`.
fn fault(answer: &Answer, status: u16, refusal: &Answer) -> Option<String> {
    if answer.status >= 400 {
        answer.check_error();
    }
    let is_taken = || answer.body["event_id"].as_str().is_some_and(|id| id.len() == 36);
    let is_right = match status {
        401 => visible_parts(answer) == visible_parts(refusal),
        202 => is_taken(),
        _ => true,
    };
    let is_right = is_right && answer.status == status;
    (!is_right).then(|| format!("{} {:?}", answer.status, visible_parts(answer)))
}

/// Sends requests, each with its row and its status, and asserts the answers.
async fn check(cases: Vec<(String, u16, Request)>, refusal: &Answer) {
    let mut wrong = Vec::new();
    let mut cases = cases.into_iter().peekable();
    while cases.peek().is_some() {
        let chunk = cases
            .by_ref()
            .take(AT_ONCE)
            .map(|(row, status, request)| async move {
                let fault = fault(&request.await, status, refusal);
                fault.map(|fault| format!("{row}: {fault}"))
            });
        wrong.extend(join_all(chunk).await.into_iter().flatten());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_channel_opens_to_its_own_credentials_alone() {
    let channels = Channels::start().await;
    let refusal = channels.refusal().await;
    let case = |row: &str| {
        let (status, case) = row.split_once(' ').expect("each row begins with a status");
        (
            row.to_owned(),
            status.parse().expect("a status"),
            channels.request(case),
        )
    };
    check(rows(CASES).map(case).collect(), &refusal).await;
}

#[tokio::test]
async fn nothing_but_the_whole_token_is_the_token() {
    let channels = Channels::start().await;
    let refusal = channels.refusal().await;
    let events = &channels.events;
    let stranger = events.scope.token(Persona::OtherProject);
    let body = json!({ "name": "Foreign", "source": "tests" });
    let foreign = events
        .post(&stranger, "/events/channels", &body)
        .await
        .expect_status(201);
    let mut cases = Vec::new();
    for name in ["plain", "hub"] {
        let channel = &channels.channels[name];
        let token = channel.token();
        let bare = token.trim_start_matches("mri_");
        let short = &token[..token.len() - 1];
        let values = [
            ("token", token.to_owned()),
            ("bare", bare.to_owned()),
            ("short", short.to_owned()),
            ("flipped", format!("{short}{}", other(&token[token.len() - 1..]))),
            ("first", format!("mri_{}{}", other(&bare[..1]), &bare[1..])),
            ("upper", token.to_uppercase()),
            ("lower", token.to_lowercase()),
            ("hint", token[token.len() - 4..].to_owned()),
            ("hash", hex::encode(Sha256::digest(token))),
            ("base64", BASE64.encode(token)),
            ("other", channels.channels["other"].token().to_owned()),
            (
                "foreign",
                foreign.body["ingest_token"]
                    .as_str()
                    .expect("it is shown")
                    .to_owned(),
            ),
            ("secret", SECRET.to_owned()),
            ("person", events.token.clone()),
            ("channel", channel.id().to_owned()),
        ];
        let signature = format!("sha256={}", hex_of(SECRET, BODY));
        for row in rows(TOKENS) {
            let wrong = filled(row, &values);
            let encoded: String = wrong.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let by_query = format!("{}?token={encoded}", channel.url);
            let places = [
                ("bearer", events.request(Method::POST, &channel.url).token(&wrong)),
                (
                    "header",
                    events
                        .request(Method::POST, &channel.url)
                        .header("x-service-ingest-token", &wrong),
                ),
                ("query", events.request(Method::POST, &by_query)),
            ];
            for (place, request) in places {
                let mut request = request.header("x-request-id", REQUEST_ID).body(BODY);
                // Next to a valid signature no token is needed, but a wrong token is refused.
                if name == "hub" {
                    request = request.header("x-hub-signature-256", &signature);
                }
                cases.push((format!("{name}, {place}: {row}"), 401, request));
            }
        }
    }
    check(cases, &refusal).await;
}

#[tokio::test]
async fn no_path_leads_around_the_credentials() {
    let channels = Channels::start().await;
    let refusal = channels.refusal().await;
    let events = &channels.events;
    let scope = &events.scope;
    let mut values = vec![
        ("account", scope.account.clone()),
        ("project", scope.project.clone()),
        ("channel", channels.channels["plain"].id().to_owned()),
        ("UPPER", channels.channels["plain"].id().to_uppercase()),
        ("a", format!("%{:02x}", scope.account.as_bytes()[0])),
        ("rest", scope.account[1..].to_owned()),
        ("channel3", channels.channels["other"].id().to_owned()),
        ("account2", format!("{}-other", scope.account)),
        ("project2", scope.other_project()),
        ("long", "x".repeat(300)),
    ];
    let body = json!({ "name": "Foreign", "source": "tests" });
    let stranger = scope.token(Persona::OtherAccount);
    let foreign = events
        .post(&stranger, "/events/channels", &body)
        .await
        .expect_status(201);
    values.push(("channel2", foreign.id()));
    let token = channels.channels["plain"].token();
    let host = events.address();
    let mut wrong = Vec::new();
    for row in rows(PATHS) {
        let (status, path) = row.split_once(' ').expect("each row begins with a status");
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nx-request-id: {REQUEST_ID}\r\n\
             authorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{BODY}",
            filled(path, &values),
            BODY.len()
        );
        let exchange = exchange(events, request.as_bytes(), false).await;
        let status = status.parse().expect("a status");
        wrong.extend(fault(&exchange.answer, status, &refusal).map(|fault| format!("{row}: {fault}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A sender chooses the times of its events, and makes no file of the log for each of them.
#[tokio::test]
async fn old_timestamps_make_no_file_each_locally() {
    const EVENTS: usize = 60;
    let events = Events::start_local().await;
    let channel = events.plain_channel().await;
    for number in 0..EVENTS {
        let day = format!(
            "20{:02}-{:02}-{:02}T12:00:00Z",
            10 + number % 10,
            1 + number % 12,
            1 + number % 28
        );
        let body = json!({ "action": "opened", "timestamp": day });
        events.event(&channel, &body).await;
    }
    events.scope.ops(&["audit", "archive"]).expect_success();
    let log = events
        .data_dir()
        .join("objects/millrace-data/log")
        .join(&events.scope.account)
        .join(&events.scope.project);
    let days = std::fs::read_dir(&log).expect("the log has files");
    let files: usize = days
        .filter_map(|day| std::fs::read_dir(day.ok()?.path().join("events")).ok())
        .map(Iterator::count)
        .sum();
    // The events of one pass, or of two where the runner makes one meanwhile, before and after midnight.
    assert!((1..=8).contains(&files), "{files} files of {EVENTS} events");
}
