//! Reads bodies as external systems send them: `tests/data/strangers/senders.jsonl` says what each becomes.
#![cfg(test)]

use events::sender::Request;
use events::sender::body::{Arrays, Body};
use events::transform::{Defaults, Transform, read};
use http::HeaderMap;
use platform::UtcTime;
use serde_json::Value;

const CASES: &str = include_str!("../../../tests/data/strangers/senders.jsonl");

#[test]
fn bodies_of_senders_become_the_events_that_they_mean() {
    let mut wrong = Vec::new();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let transform: Transform = serde_json::from_value(case["transform"].clone()).unwrap();
        transform.check().unwrap();
        let defaults = Defaults {
            action: None,
            resource_type: None,
            transform: Some(&transform),
            headers: &[],
        };
        let body = &case["body"];
        let (text, headers) = (body.to_string(), HeaderMap::new());
        let request = Request {
            method: "POST",
            url: "https://ingest.example/channel",
            headers: &headers,
            body: text.as_bytes(),
        };
        let request_body = Body::read(request, 1_000_000, Arrays::Split).unwrap();
        let incoming = read(request, &request_body.items[0], defaults).unwrap();
        let payload: Value = serde_json::from_str(incoming.details["payload"].get()).unwrap();
        assert_eq!(&payload, body, "the body is kept");
        for (field, expected) in case["event"].as_object().unwrap() {
            let expected = expected.as_str().map(str::to_owned);
            let found = match field.as_str() {
                "action" => Some(incoming.action.clone()),
                "resource_id" => incoming.resource_id.clone(),
                "idempotency_key" => incoming.idempotency_key.clone(),
                "timestamp" => {
                    let expected: Option<UtcTime> = expected.as_ref().map(|time| time.parse().unwrap());
                    if incoming.timestamp != expected {
                        wrong.push(format!("{}: {:?}", case["why"], incoming.timestamp));
                    }
                    continue;
                }
                other => panic!("{other} is no part of an event"),
            };
            if found != expected {
                wrong.push(format!("{}: {field} is {found:?}", case["why"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
