//! Tests the bodies of calls: content types, compression, character sets, and what a refusal tells.

use serde_json::json;

use crate::calls::{answered, refused};
use crate::service::{Service, registry};
use crate::world::{output, run_with, tasks};

#[test]
fn body_follows_its_content_type() {
    let service = Service::start();
    for (kind, body, sent) in [
        (
            "application/x-www-form-urlencoded",
            "{ a: 1 2, b: [x, 7], none: null }",
            "a=1+2&b=x&b=7",
        ),
        ("application/x-www-form-urlencoded; charset=utf-8", "'a=1'", "a=1"),
        ("application/json", "'plain'", "\"plain\""),
        ("application/json", "'[1]'", "[1]"),
        ("application/vnd.api+json", "{ a: 1 }", r#"{"a":1}"#),
        ("text/csv", "'a,b'", "a,b"),
        ("text/plain", "7", "7"),
        ("application/octet-stream", "'aGVsbG8='", "hello"),
    ] {
        let with = format!(
            "{{ method: post, endpoint: 'URL/x', headers: {{ Content-Type: '{kind}' }}, body: {body} }}"
        );
        answered(&service, &with, json!({}));
        let got = service.got().pop().unwrap();
        assert_eq!(
            (got.body.as_str(), got.headers["content-type"].as_str()),
            (sent, kind),
            "{body}"
        );
    }
    for (kind, body) in [
        ("application/x-www-form-urlencoded", "{ a: { b: 1 } }"),
        ("application/x-www-form-urlencoded", "[1]"),
        ("image/png", "'not base64!'"),
        ("image/png", "{ a: 1 }"),
        ("multipart/form-data", "{ a: 1 }"),
    ] {
        let count = service.got().len();
        let with = format!(
            "{{ method: post, endpoint: 'URL/x', headers: {{ content-type: {kind} }}, body: {body} }}"
        );
        let error = refused(&service, &with, json!({}));
        assert!(
            error["type"].as_str().unwrap().ends_with("/expression"),
            "{error}"
        );
        assert_eq!(service.got().len(), count, "{kind} is not sent");
    }
}

#[test]
fn answer_is_decoded_by_its_headers() {
    let service = Service::start();
    let get = |path: &str| {
        answered(
            &service,
            &format!("{{ method: get, endpoint: 'URL/{path}' }}"),
            json!({}),
        )
    };
    assert_eq!(get("latin1"), json!("café"));
    assert_eq!(get("bom"), json!({ "a": 1 }));
    assert_eq!(get("gzip"), json!({ "zipped": true }));
    for path in ["gzip-bomb", "gzip-broken", "brotli"] {
        let error = refused(
            &service,
            &format!("{{ method: get, endpoint: 'URL/{path}' }}"),
            json!({}),
        );
        assert!(
            error["type"].as_str().unwrap().ends_with("/communication"),
            "{path}: {error}"
        );
    }
}

#[test]
fn call_asks_for_no_encoding_that_it_cannot_read() {
    let service = Service::start();
    let get = |headers: &str| format!("{{ method: get, endpoint: 'URL/gzip', headers: {headers} }}");
    for (headers, asked) in [
        ("{}", "gzip, deflate"),
        ("{ Accept-Encoding: gzip;q=1.0 }", "gzip;q=1.0"),
        ("{ accept-encoding: identity }", "identity"),
    ] {
        assert_eq!(
            answered(&service, &get(headers), json!({})),
            json!({ "zipped": true })
        );
        let got = service.got().pop().unwrap();
        assert_eq!(got.headers["accept-encoding"], asked);
    }
    for headers in ["{ Accept-Encoding: 'gzip, br' }", "{ accept-encoding: '*' }"] {
        let count = service.got().len();
        let error = refused(&service, &get(headers), json!({}));
        let kind = error["type"].as_str().unwrap();
        assert!(kind.ends_with("/configuration"), "{error}");
        assert_eq!(service.got().len(), count, "{headers} is not sent");
    }
}

#[test]
fn catch_sees_status_headers_and_body_of_a_refusal() {
    let service = Service::start();
    let caught = format!(
        "t: {{ try: [ {{ a: {{ call: http, with: {{ method: post, endpoint: '{}/declined' }} }} }} ], \
         catch: {{ as: e, do: [ {{ s: {{ set: {{ got: '${{ $e }}' }} }} }} ] }} }}",
        service.url
    );
    let output = output(run_with(&registry(), &tasks(&caught), &json!({})));
    let (error, response) = (&output["got"], &output["got"]["response"]);
    assert_eq!(
        (error["status"].as_u64(), response["statusCode"].as_u64()),
        (Some(422), Some(422))
    );
    assert_eq!(response["content"], json!({ "code": "declined" }));
    assert_eq!(response["headers"]["retry-after"], "7");
    let text = refused(&service, "{ method: get, endpoint: 'URL/status/404' }", json!({}));
    assert_eq!(text["response"]["content"], "no");
    let large = refused(
        &service,
        "{ method: get, endpoint: 'URL/declined-at-length' }",
        json!({}),
    );
    assert_eq!(large["response"]["statusCode"], 422);
    assert!(large["response"].get("content").is_none());
}
