//! Tests the public ingest endpoint: which requests are accepted, how an event is built, and that no event is
//! accepted twice.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::future::join_all;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tests::events::Channel;
use tests::{Events, Method, Persona};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const REFUSED: &str = "The channel does not exist, or the token or signature is missing or wrong.";

fn hmac(secret: &str, body: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().to_vec()
}

/// Returns the event as a receiver gets it.
async fn delivered(events: &Events, channel: &Channel, body: &Value) -> Value {
    let before = events.receiver.received_at("/all").len();
    let event_id = events.event(channel, body).await;
    let received = events.received("/all", before + 1).await;
    let event = received.last().unwrap().json()["event"].clone();
    assert_eq!(event["event_id"], event_id.as_str());
    event
}

#[tokio::test]
async fn a_time_or_key_that_is_not_understood_is_warned_of() {
    let events = Events::start().await;
    let transform = json!({ "name": "times", "source": "t", "transform": { "timestamp_path": "at" } });
    let channel = events.channel(&transform).await;
    for (body, part) in [
        (json!({ "at": "yesterday" }), Some("\"yesterday\"")),
        (json!({ "at": "20240310123000" }), Some("20240310123000")),
        (json!({ "at": { "seconds": 1 } }), Some("seconds")),
        (json!({ "timestamp": "31.01.2026" }), Some("31.01.2026")),
        (json!({ "at": null }), None),
        (json!({}), None),
        (json!({ "timestamp": 1_700_000_000 }), Some("1700000000")),
        (json!({ "at": 0 }), Some("0")),
        (json!({ "at": "2026-01-31T12:00:00+24:00" }), Some("+24:00")),
        (json!({ "idempotency_key": 1.5 }), Some("1.5")),
        (json!({ "idempotency_key": 7 }), None),
        (json!({ "timestamp": "31.01.2026", "at": 1_700_000_000 }), None),
    ] {
        let request = events.request(Method::POST, &channel.url).token(channel.token());
        let answer = request.body(body.to_string()).await.expect_status(202);
        let warnings = &answer.body["warnings"];
        match part {
            Some(part) => assert!(warnings[0].as_str().unwrap().contains(part), "{body}: {warnings}"),
            None => assert!(warnings.is_null(), "{body}: {warnings}"),
        }
    }
}

#[tokio::test]
async fn a_token_opens_its_channel_in_three_ways() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let request = || events.request(Method::POST, &channel.url);
    let token = channel.token();
    let requests = [
        request().token(token),
        request().header("authorization", &format!("bearer {token}")),
        request().header("x-service-ingest-token", token),
        events.request(Method::POST, &format!("{}?a=b&token={token}", channel.url)),
    ];
    for request in requests {
        let answer = request.body("{}").await.expect_status(202);
        assert_eq!(answer.body.as_object().unwrap().len(), 1);
        assert_eq!(answer.body["event_id"].as_str().unwrap().len(), 36);
    }
    assert!(!events.log().contains(token), "a token is in the log");
    let other = events.plain_channel().await;
    let elsewhere = |from: &str, to: &str| channel.url.replace(from, to);
    let refused = [
        request(),
        request().token(""),
        request().token("x"),
        request().token(other.token()),
        request().header("authorization", &format!("Basic {token}")),
        request().header("x-service-ingest-token", &format!("{token}x")),
        events.request(Method::POST, &format!("{}?token=", channel.url)),
        events
            .request(Method::POST, &elsewhere(channel.id(), "none"))
            .token(token),
        events
            .request(Method::POST, &elsewhere(channel.id(), "a%23b"))
            .token(token),
        events
            .request(Method::POST, &elsewhere(channel.id(), &"x".repeat(300)))
            .token(token),
        events
            .request(Method::POST, &elsewhere(&events.scope.account, "other"))
            .token(token),
        events
            .request(Method::POST, &elsewhere(&events.scope.account, "a%2Fb"))
            .token(token),
        events
            .request(Method::POST, &elsewhere(&events.scope.project, "other"))
            .token(token),
        // A user's access token is not a channel token.
        request().token(&events.token),
    ];
    for request in refused {
        // Whatever the fault, the answer is the same, and the body is not read.
        let answer = request
            .body("not json")
            .await
            .expect_error(401, "unauthenticated");
        assert_eq!(answer.message(), REFUSED);
    }
}

#[tokio::test]
async fn event_with_an_altered_signature_is_refused() {
    let events = Events::start().await;
    let rule = json!({ "header": "X-Hub-Signature-256", "prefix": "sha256=" });
    let channel = events
        .channel(&json!({ "name": "GitHub", "source": "github", "signature": rule }))
        .await;
    let body = br#"{"action":"opened","number":7}"#;
    let tag = hmac(channel.secret(), body);
    let good = format!("sha256={}", hex::encode(&tag));
    let request = || events.request(Method::POST, &channel.url).body(&body[..]);
    request()
        .header("x-hub-signature-256", &good)
        .await
        .expect_status(202);
    request()
        .header(
            "X-HUB-SIGNATURE-256",
            &format!("sha256={}", hex::encode_upper(&tag)),
        )
        .await
        .expect_status(202);
    request()
        .header("x-hub-signature-256", &good)
        .token(channel.token())
        .await
        .expect_status(202);
    // An empty parameter counts as left out: the signature alone counts.
    events
        .request(Method::POST, &format!("{}?token=", channel.url))
        .body(&body[..])
        .header("x-hub-signature-256", &good)
        .await
        .expect_status(202);
    let other = hmac("another secret", body);
    let sha1 = "sha1=0000000000000000000000000000000000000000";
    for header in [
        "",
        "sha256=",
        "sha256",
        &hex::encode(&tag),
        &format!("SHA256={}", hex::encode(&tag)),
        &format!("sha256={}", hex::encode(&other)),
        &format!("sha256={}", BASE64.encode(&tag)),
        &format!("sha256={}0", hex::encode(&tag)),
        &good[..good.len() - 2],
        &format!(" {good}x"),
        sha1,
        "sha256=zz",
    ] {
        let refused = request().header("x-hub-signature-256", header).await;
        let refused = refused.expect_error(401, "unauthenticated");
        assert_eq!(refused.message(), REFUSED, "{header}");
    }
    // The signature is missing, in another header, replaced by a token, next to a wrong token, or over
    // another body.
    request().await.expect_error(401, "unauthenticated");
    request()
        .header("x-signature", &good)
        .await
        .expect_error(401, "unauthenticated");
    request()
        .token(channel.token())
        .await
        .expect_error(401, "unauthenticated");
    let wrong = request().header("x-hub-signature-256", &good).token("wrong");
    wrong.await.expect_error(401, "unauthenticated");
    let changed = events
        .request(Method::POST, &channel.url)
        .body(&br#"{"action":"opened","number":8}"#[..]);
    changed
        .header("x-hub-signature-256", &good)
        .await
        .expect_error(401, "unauthenticated");

    // A new secret replaces the old one at once.
    let path = format!("/events/channels/{}", channel.id());
    let rotated = events
        .put(&events.token, &path, &json!({ "rotate_signing_secret": true }))
        .await;
    let rotated = rotated.expect_status(200).body;
    request()
        .header("x-hub-signature-256", &good)
        .await
        .expect_error(401, "unauthenticated");
    let tag = hmac(rotated["signing_secret"].as_str().unwrap(), body);
    let good = format!("sha256={}", hex::encode(tag));
    request()
        .header("x-hub-signature-256", &good)
        .await
        .expect_status(202);
    assert!(!events.log().contains(rotated["signing_secret"].as_str().unwrap()));
}

#[tokio::test]
async fn field_of_an_event_is_given_else_transformed_else_the_default() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let plain = events.plain_channel().await;
    let event = delivered(&events, &plain, &json!({})).await;
    assert_eq!(event["event_category"], "external");
    assert_eq!(event["source"], "external:tests");
    assert_eq!(event["action"], "received");
    assert_eq!(event["resource_type"], "external_event");
    assert_eq!(event["resource_id"], event["event_id"]);
    assert_eq!(event["account_id"], events.scope.account.as_str());
    assert_eq!(event["project_id"], events.scope.project.as_str());
    assert_eq!(event["details"], json!({ "payload": {} }));

    let body = json!({
        "action": "paid", "resource_type": "invoice", "resource_id": "i-7", "timestamp": "2026-01-02T05:04:05+02:00",
        "payload": [1, null], "details": { "amount": 12.50, "payload": "never" }, "idempotency_key": "k",
    });
    let event = delivered(&events, &plain, &body).await;
    assert_eq!(event["action"], "paid");
    assert_eq!(
        (&event["resource_type"], &event["resource_id"]),
        (&json!("invoice"), &json!("i-7"))
    );
    assert_eq!(event["timestamp"], "2026-01-02T03:04:05.000Z");
    assert_eq!(event["details"], json!({ "amount": 12.5, "payload": body }));

    let channel = events
        .channel(&json!({
            "name": "n", "source": "shop", "default_action": "default", "default_resource_type": "thing",
            "transform": {
                "action_path": "kind.name", "resource_type_path": "objects.0.type", "resource_id_path": "objects.0.id",
                "timestamp_path": "at", "idempotency_key_path": "objects.0.key", "static_details": { "a": 1, "b": 2 },
            },
        }))
        .await;
    let body = json!({ "kind": { "name": "sold" }, "objects": [{ "type": "order", "id": 81, "key": "k" }], "at": 1767225600 });
    let event = delivered(&events, &channel, &body).await;
    assert_eq!(event["action"], "sold");
    assert_eq!(
        (&event["resource_type"], &event["resource_id"]),
        (&json!("order"), &json!("81"))
    );
    assert_eq!(event["timestamp"], "2026-01-01T00:00:00.000Z");
    assert_eq!(event["details"], json!({ "a": 1, "b": 2, "payload": body }));
    // A field of the body takes precedence over the path, and its details over those of the channel.
    let both = json!({ "action": "own", "kind": { "name": "found" }, "details": { "b": 3 }, "at": "soon" });
    let event = delivered(&events, &channel, &both).await;
    assert_eq!(event["action"], "own");
    assert_eq!(event["resource_type"], "thing");
    assert_eq!(event["details"], json!({ "a": 1, "b": 3, "payload": both }));
    // A path to nothing, or to a value that is not a name, leaves the default. Fields of other types are the
    // sender's own.
    for body in [
        json!({ "kind": { "name": {} } }),
        json!({ "kind": 7, "timestamp": 12, "action": ["x"], "details": "text" }),
    ] {
        let event = delivered(&events, &channel, &body).await;
        assert_eq!(
            (&event["action"], &event["resource_type"]),
            (&json!("default"), &json!("thing"))
        );
        assert_eq!(event["details"]["payload"], body);
    }
}

#[tokio::test]
async fn a_key_stands_for_one_event_however_many_send_it() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let (channel, other) = (events.plain_channel().await, events.plain_channel().await);
    let body = json!({ "idempotency_key": "k", "n": 1 });
    let posts = (0..64).map(|_| events.event(&channel, &body));
    let ids: BTreeSet<String> = join_all(posts).await.into_iter().collect();
    assert_eq!(ids.len(), 1, "one key stands for {ids:?}");
    // Another body with the same key is the same event; the same key in another channel is another event.
    let again = events
        .event(&channel, &json!({ "idempotency_key": "k", "n": 2 }))
        .await;
    assert!(ids.contains(&again));
    let elsewhere = events.event(&other, &body).await;
    assert!(!ids.contains(&elsewhere));
    events.received("/all", 2).await;
    let deliveries = events.deliveries(&json!({})).await;
    assert_eq!(deliveries.len(), 2, "{deliveries:?}");
    assert_eq!(events.receiver.received_at("/all").len(), 2);
}

#[tokio::test]
async fn bodies_that_are_no_events_are_refused() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let post = |body: Vec<u8>| {
        events
            .request(Method::POST, &channel.url)
            .token(channel.token())
            .body(body)
    };
    for (body, message) in [
        ("", "The body is empty; send a JSON object."),
        (" \n", "The body is empty; send a JSON object."),
        (
            "[1]",
            "Each element of an array must be an object, which that at the place 0 is not.",
        ),
        ("[]", "An array has 1 to 500 events."),
        ("7", "The body must be a JSON object or an array of objects."),
        ("null", "The body must be a JSON object or an array of objects."),
        (
            "\"text\"",
            "The body must be a JSON object or an array of objects.",
        ),
        (
            "{\"a\":1} x",
            "The body is not valid JSON: trailing characters at line 1 column 9.",
        ),
        (
            "action=opened",
            "The body is a form of the type application/x-www-form-urlencoded, and must be JSON in UTF-8.",
        ),
        ("{\"a\":1,\"a\":2}", "duplicate field `a`"),
        ("{\"x\":[{\"b\":{\"c\":1,\"c\":2}}]}", "duplicate field `c`"),
    ] {
        let refused = post(body.into()).await.expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(message),
            "{body}: {}",
            refused.message()
        );
    }
    let refused = post(b"{\"a\":\"\xff\"}".to_vec())
        .await
        .expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("The body is not valid"),
        "{}",
        refused.message()
    );
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let refused = post(deep.into_bytes()).await.expect_error(400, "invalid_request");
    assert_eq!(refused.message(), "The body nests deeper than 100 levels.");
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(99), "]".repeat(99));
    post(deep.into_bytes()).await.expect_status(202);

    // The limit is exactly 256 KiB, with or without a declared length.
    let of = |bytes: usize| format!("{{\"x\":\"{}\"}}", "x".repeat(bytes - 8));
    post(of(262_144).into_bytes()).await.expect_status(202);
    let large = post(of(262_145).into_bytes())
        .await
        .expect_error(413, "payload_too_large");
    assert_eq!(
        large.message(),
        "The body is larger than the 262144 bytes that this operation takes."
    );
    assert!(
        chunked(&channel, &of(300 * 1_024))
            .await
            .starts_with("HTTP/1.1 413 ")
    );
    assert!(
        chunked(&channel, &of(200 * 1_024))
            .await
            .starts_with("HTTP/1.1 202 ")
    );

    for (method, status) in [(Method::GET, 405), (Method::PUT, 405)] {
        let answer = events.request(method, &channel.url).token(channel.token()).await;
        assert_eq!(answer.status, status);
    }
}

/// Sends a body in chunks, without its length.
async fn chunked(channel: &Channel, body: &str) -> String {
    let (_, rest) = channel.url.split_once("://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut socket = tokio::net::TcpStream::connect(host).await.unwrap();
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        channel.token()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    for part in body.as_bytes().chunks(10_000) {
        let part = [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        socket.write_all(&part).await.unwrap();
    }
    socket.write_all(b"0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_disabled_channel_says_so_to_its_own_senders_alone_and_a_deleted_one_never() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let path = format!("/events/channels/{}", channel.id());
    events
        .put(&events.token, &path, &json!({ "enabled": false }))
        .await
        .expect_status(200);
    let refused = events
        .ingest(&channel, &json!({}))
        .await
        .expect_error(403, "forbidden");
    assert_eq!(
        refused.message(),
        "The channel is disabled; nothing that is sent to it is taken."
    );
    let stranger = events.request(Method::POST, &channel.url).token("x").body("{}");
    stranger.await.expect_error(401, "unauthenticated");
    events
        .put(&events.token, &path, &json!({ "enabled": true }))
        .await
        .expect_status(200);
    events.event(&channel, &json!({})).await;
    events.delete(&events.token, &path).await.expect_status(200);
    events
        .ingest(&channel, &json!({}))
        .await
        .expect_error(401, "unauthenticated");
}

#[tokio::test]
async fn an_event_that_is_taken_outlives_a_kill_locally() {
    let mut events = Events::start_local().await;
    events.webhook("/all").await;
    let channel = events.plain_channel().await;
    let ids = join_all((0..20).map(|n| {
        let (events, channel) = (&events, &channel);
        async move { events.event(channel, &json!({ "n": n })).await }
    }))
    .await;
    events.service.restart();
    for id in &ids {
        let delivery = events.delivery_of(id, &["succeeded"]).await;
        assert_eq!(delivery["event_id"], id.as_str());
    }
    let got: BTreeSet<_> = events
        .receiver
        .received_at("/all")
        .iter()
        .map(|received| received.header("x-service-event-id").to_owned())
        .collect();
    assert_eq!(got, ids.into_iter().collect());
    let reader = events.scope.token(Persona::Reader);
    events
        .post(&reader, "/events/deliveries/search", &json!({}))
        .await
        .expect_status(200);
}

#[tokio::test]
async fn a_channel_beyond_its_rate_is_told_when_to_come_again_locally() {
    let events = Events::start_local_with(&[("MILLRACE_INGEST_CHANNEL_RATE", "1")]).await;
    let channel = events.plain_channel().await;
    let send = || {
        events
            .request(Method::POST, &channel.url)
            .token(channel.token())
            .body("{}")
    };
    let mut count = 0;
    let refused = loop {
        let answer = send().await;
        if answer.status != 202 {
            break answer.expect_error(429, "too_many_requests");
        }
        count += 1;
        // A window of ten seconds may end meanwhile.
        assert!(count <= 100, "no request is refused");
    };
    assert!(count >= 10, "{count}");
    let seconds: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=10).contains(&seconds), "{seconds}");
    // Requests with a wrong token do not count against the rate, and do not learn about it.
    let stranger = events
        .request(Method::POST, &channel.url)
        .token("x")
        .body("{}")
        .await;
    stranger.expect_error(401, "unauthenticated");
}
