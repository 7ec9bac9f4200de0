//! Fuzzes ingest bodies: a body is refused, or makes an event that carries it byte for byte. The input is a
//! body.
#![no_main]

use events::sender::Request;
use events::sender::body::{Arrays, Body};
use events::transform::{self, Defaults, Transform};
use http::HeaderMap;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let transform = Transform {
        action_path: Some("a.0.b".to_owned()),
        resource_type_path: Some("type".to_owned()),
        resource_id_path: Some("id".to_owned()),
        idempotency_key_path: Some("key".to_owned()),
        timestamp_path: Some("at".to_owned()),
        ..Transform::default()
    };
    for transform in [None, Some(&transform)] {
        let defaults = Defaults {
            action: Some("received"),
            resource_type: None,
            transform,
            headers: &[],
        };
        let headers = HeaderMap::new();
        let request = Request {
            method: "POST",
            url: "https://ingest.example/channel",
            headers: &headers,
            body: data,
        };
        let Ok(body) = Body::read(request, 1_000_000, Arrays::Whole) else { continue };
        let event = transform::read(request, &body.items[0], defaults).expect("what is read makes an event");
        let details = serde_json::to_string(&event.details).expect("details are JSON");
        let text = str::from_utf8(data).expect("what is taken is UTF-8").trim();
        assert!(details.contains(text), "{text:?} is not in {details:?}");
        let value: Value = serde_json::from_str(&details).expect("details are JSON");
        assert!(value["payload"].is_object() || value["payload"].is_array());
        for name in [&event.action, &event.resource_type] {
            assert!(!name.is_empty() && name.len() <= 500 && !name.chars().any(char::is_control), "{name:?}");
        }
    }
});
