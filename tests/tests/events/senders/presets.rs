//! Tests that the requests of known senders become the events that people filter, and that forged ones do
//! not.

use serde_json::{Value, json};
use tests::{Events, Method};

use super::signing::{
    Sending, accepted, base64, channel, iso, now, send, sha1, sha256, sha512, sign_github, sign_slack,
    sign_stripe,
};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A sender: its preset, its secret, and how it signs a body at a time.
struct Sender {
    preset: &'static str,
    secret: &'static str,
    sign: fn(Sending, &str, &str, i64) -> Sending,
    sending: Sending,
    /// Expected parts of the event.
    event: Value,
}

fn standard(prefix: [&'static str; 3], sending: Sending, secret: &str, at: i64) -> Sending {
    use base64::Engine as _;
    let key = base64::engine::general_purpose::STANDARD
        .decode(secret.trim_start_matches("whsec_"))
        .unwrap();
    let tag = sha256(&key, &format!("msg_1.{at}.{}", sending.body));
    let [id, timestamp, signature] = prefix;
    sending
        .with(id, "msg_1")
        .with(timestamp, at.to_string())
        .with(signature, format!("v1,{} v1,AAAA", base64(&tag)))
}

fn senders() -> Vec<Sender> {
    vec![
        Sender {
            preset: "github",
            secret: SECRET,
            sign: |sending, secret, _, _| sign_github(sending, secret),
            sending: Sending::json(
                &json!({ "action": "opened", "pull_request": { "id": 9_007_199_254_740_993_u64 } }),
            )
            .with("x-github-event", "pull_request")
            .with("x-github-delivery", "d-1"),
            event: json!({ "action": "opened", "resource_type": "pull_request", "resource_id": "9007199254740993",
                "details": { "headers": { "x-github-event": "pull_request", "x-github-delivery": "d-1" } } }),
        },
        Sender {
            preset: "github",
            secret: SECRET,
            sign: |sending, secret, _, _| sign_github(sending, secret),
            sending: Sending::form(
                "payload=%7B%22zen%22%3A%22x%22%2C%22repository%22%3A%7B%22id%22%3A5%7D%7D",
            )
            .with("x-github-event", "push")
            .with("x-github-delivery", "d-2"),
            event: json!({ "action": "push", "resource_type": "push", "resource_id": "5", "details": { "payload": { "zen": "x" } } }),
        },
        Sender {
            preset: "stripe",
            secret: "whsec_0123456789abcdef",
            sign: |sending, secret, _, at| sign_stripe(sending, secret, at),
            sending: Sending::json(
                &json!({ "id": "evt_1", "object": "event", "type": "invoice.paid", "created": 1_700_000_000,
                "data": { "object": { "id": "in_1", "object": "invoice" } } }),
            ),
            event: json!({ "action": "invoice.paid", "resource_type": "invoice", "resource_id": "in_1", "timestamp": "2023-11-14T22:13:20.000Z" }),
        },
        Sender {
            preset: "shopify",
            secret: SECRET,
            sign: |sending, secret, _, _| {
                let tag = sha256(secret.as_bytes(), &sending.body);
                sending.with("x-shopify-hmac-sha256", base64(&tag))
            },
            sending: Sending::json(&json!({ "id": 1001 }))
                .with("x-shopify-topic", "orders/create")
                .with("x-shopify-webhook-id", "w-1"),
            event: json!({ "action": "orders/create", "resource_type": "orders/create", "resource_id": "1001" }),
        },
        Sender {
            preset: "slack",
            secret: SECRET,
            sign: |sending, secret, _, at| sign_slack(sending, secret, at),
            sending: Sending::json(
                &json!({ "type": "event_callback", "event_id": "Ev1", "event_time": 1_700_000_000,
                "event": { "type": "message", "channel": "C1", "channel_type": "channel" } }),
            ),
            event: json!({ "action": "message", "resource_type": "channel", "resource_id": "C1" }),
        },
        Sender {
            preset: "slack",
            secret: SECRET,
            sign: |sending, secret, _, at| sign_slack(sending, secret, at),
            sending: Sending::form("command=%2Fdeploy&text=prod&channel_id=C2&trigger_id=t1"),
            event: json!({ "action": "/deploy", "resource_type": "slash_command", "resource_id": "C2", "details": { "payload": { "text": "prod" } } }),
        },
        Sender {
            preset: "twilio",
            secret: SECRET,
            sign: |sending, secret, url, _| {
                let mut pairs: Vec<_> = sending
                    .body
                    .split('&')
                    .map(|pair| pair.replace('=', ""))
                    .collect();
                pairs.sort();
                let tag = sha1(secret.as_bytes(), &format!("{url}{}", pairs.concat()));
                sending.with("x-twilio-signature", base64(&tag))
            },
            sending: Sending::form("MessageSid=SM1&MessageStatus=delivered&Body=hi")
                .with("i-twilio-idempotency-token", "t1"),
            event: json!({ "action": "delivered", "resource_type": "message", "resource_id": "SM1" }),
        },
        Sender {
            preset: "mailgun",
            secret: SECRET,
            sign: |sending, secret, _, at| {
                let tag = hex::encode(sha256(secret.as_bytes(), &format!("{at}tok")));
                let mut body: Value = serde_json::from_str(&sending.body).unwrap();
                body["signature"] = json!({ "timestamp": at.to_string(), "token": "tok", "signature": tag });
                Sending::json(&body)
            },
            sending: Sending::json(
                &json!({ "event-data": { "event": "opened", "id": "m1", "timestamp": 1_700_000_000.5,
                "message": { "headers": { "message-id": "mid" } } } }),
            ),
            event: json!({ "action": "opened", "resource_type": "email", "resource_id": "mid", "timestamp": "2023-11-14T22:13:20.500Z" }),
        },
        Sender {
            preset: "square",
            secret: SECRET,
            sign: |sending, secret, url, _| {
                let tag = sha256(secret.as_bytes(), &format!("{url}{}", sending.body));
                sending.with("x-square-hmacsha256-signature", base64(&tag))
            },
            sending: Sending::json(
                &json!({ "type": "payment.updated", "event_id": "e1", "data": { "type": "payment", "id": "p1" } }),
            ),
            event: json!({ "action": "payment.updated", "resource_type": "payment", "resource_id": "p1" }),
        },
        Sender {
            preset: "paystack",
            secret: SECRET,
            sign: |sending, secret, _, _| {
                let tag = hex::encode(sha512(secret.as_bytes(), &sending.body));
                sending.with("x-paystack-signature", tag)
            },
            sending: Sending::json(&json!({ "event": "charge.success", "data": { "id": 302_961 } })),
            event: json!({ "action": "charge.success", "resource_type": "transaction", "resource_id": "302961" }),
        },
        Sender {
            preset: "pagerduty",
            secret: SECRET,
            sign: |sending, secret, _, _| {
                let (old, tag) = (
                    sha256(b"an older secret", &sending.body),
                    sha256(secret.as_bytes(), &sending.body),
                );
                let header = format!("v1={},v1={}", hex::encode(old), hex::encode(tag));
                sending.with("x-pagerduty-signature", header)
            },
            sending: Sending::json(
                &json!({ "event": { "id": "ev", "event_type": "incident.triggered", "resource_type": "incident", "data": { "id": "P1" } } }),
            ),
            event: json!({ "action": "incident.triggered", "resource_type": "incident", "resource_id": "P1" }),
        },
        Sender {
            preset: "standard_webhooks",
            secret: WHSEC,
            sign: |sending, secret, _, at| {
                standard(
                    ["webhook-id", "webhook-timestamp", "webhook-signature"],
                    sending,
                    secret,
                    at,
                )
            },
            sending: Sending::json(
                &json!({ "type": "contact.created", "timestamp": "2026-01-02T03:04:05Z", "data": { "id": "c1" } }),
            ),
            event: json!({ "action": "contact.created", "resource_id": "c1", "timestamp": "2026-01-02T03:04:05.000Z" }),
        },
        Sender {
            preset: "clerk",
            secret: WHSEC,
            sign: |sending, secret, _, at| {
                standard(
                    ["svix-id", "svix-timestamp", "svix-signature"],
                    sending,
                    secret,
                    at,
                )
            },
            sending: Sending::json(
                &json!({ "type": "user.created", "data": { "id": "user_1", "object": "user" } }),
            ),
            event: json!({ "action": "user.created", "resource_type": "user", "resource_id": "user_1" }),
        },
        Sender {
            preset: "linear",
            secret: SECRET,
            sign: |sending, secret, _, at| {
                let mut body: Value = serde_json::from_str(&sending.body).unwrap();
                body["webhookTimestamp"] = json!(at * 1_000);
                let text = body.to_string();
                let tag = hex::encode(sha256(secret.as_bytes(), &text));
                Sending {
                    body: text,
                    ..sending
                }
                .with("linear-signature", tag)
            },
            sending: Sending::json(&json!({ "action": "create", "type": "Issue", "data": { "id": "i1" } }))
                .with("linear-delivery", "l1"),
            event: json!({ "action": "create", "resource_type": "Issue", "resource_id": "i1" }),
        },
        Sender {
            preset: "zendesk",
            secret: SECRET,
            sign: |sending, secret, _, at| {
                let time = iso(at);
                let tag = sha256(secret.as_bytes(), &format!("{time}{}", sending.body));
                sending
                    .with("x-zendesk-webhook-signature-timestamp", time)
                    .with("x-zendesk-webhook-signature", base64(&tag))
            },
            sending: Sending::json(
                &json!({ "type": "zen:event-type:ticket.created", "id": "z1", "detail": { "id": "42" } }),
            ),
            event: json!({ "action": "zen:event-type:ticket.created", "resource_id": "42" }),
        },
        Sender {
            preset: "hubspot",
            secret: SECRET,
            sign: |sending, secret, url, at| {
                let at = at * 1_000;
                let tag = sha256(secret.as_bytes(), &format!("POST{url}{}{at}", sending.body));
                sending
                    .with("x-hubspot-request-timestamp", at.to_string())
                    .with("x-hubspot-signature-v3", base64(&tag))
            },
            sending: Sending::json(
                &json!([{ "eventId": 1, "subscriptionType": "contact.creation", "portalId": 2, "objectId": 3 }]),
            ),
            event: json!({ "action": "contact.creation", "resource_id": "3" }),
        },
    ]
}

/// Fails with the difference unless `value` has everything of `expected`.
fn assert_has(value: &Value, expected: &Value, place: &str) {
    match expected {
        Value::Object(fields) => {
            for (name, field) in fields {
                assert_has(&value[name], field, &format!("{place}.{name}"));
            }
        }
        expected => assert_eq!(value, expected, "{place}"),
    }
}

#[tokio::test]
async fn requests_of_senders_become_events_and_repeats_do_not() {
    let events = Events::start().await;
    events.webhook("/all").await;
    for sender in senders() {
        let channel = channel(&events, sender.preset, Some(sender.secret)).await;
        let sending = (sender.sign)(sender.sending.clone(), sender.secret, &channel.url, now());
        let event = send(&events, "/all", &sending, &channel).await;
        assert_has(&event, &sender.event, sender.preset);
        // The sender repeats what it is not sure of: the same event, by its own id.
        let again = sending
            .to(&events, &channel)
            .await
            .expect_status(accepted(&channel));
        assert_eq!(again.body["event_id"], event["event_id"], "{}", sender.preset);
    }
}

#[tokio::test]
async fn forged_requests_of_senders_are_refused() {
    let events = Events::start().await;
    for sender in senders() {
        let channel = channel(&events, sender.preset, Some(sender.secret)).await;
        let (url, at) = (channel.url.as_str(), now());
        let signed = (sender.sign)(sender.sending.clone(), sender.secret, url, at);
        let other_secret = if sender.secret == WHSEC {
            "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        } else {
            "another secret"
        };
        let mut forged = vec![
            ("no signature", sender.sending.clone()),
            (
                "another secret",
                (sender.sign)(sender.sending.clone(), other_secret, url, at),
            ),
        ];
        let is_body_signed = !["mailgun"].contains(&sender.preset);
        if is_body_signed {
            let is_form = signed.body.starts_with(|first: char| first.is_ascii_alphabetic());
            let body = format!("{}{}", signed.body, if is_form { "&more=1" } else { " " });
            forged.push((
                "another body",
                Sending {
                    body,
                    ..signed.clone()
                },
            ));
        }
        let has_time =
            !["github", "shopify", "twilio", "square", "paystack", "pagerduty"].contains(&sender.preset);
        if has_time {
            for (why, late) in [("an old request", at - 400), ("one of the future", at + 400)] {
                forged.push((
                    why,
                    (sender.sign)(sender.sending.clone(), sender.secret, url, late),
                ));
            }
        }
        let cut = signed.headers.iter().map(|(name, value)| {
            match name.contains("signature") || name.contains("hmac") {
                true => {
                    let cut = value.trim_end_matches(",v0=ab").trim_end_matches(" v1,AAAA");
                    (*name, cut.chars().take(cut.chars().count() - 2).collect())
                }
                false => (*name, value.clone()),
            }
        });
        let cut: Vec<_> = cut.collect();
        if is_body_signed {
            forged.push((
                "a cut signature",
                Sending {
                    headers: cut,
                    ..signed.clone()
                },
            ));
        }
        for (why, forged) in forged {
            let answer = forged.to(&events, &channel).await;
            assert_eq!(answer.status, 401, "{}: {why}: {:?}", sender.preset, answer.body);
        }
        signed
            .to(&events, &channel)
            .await
            .expect_status(accepted(&channel));
    }
}

#[tokio::test]
async fn a_signature_of_one_preset_opens_no_other() {
    let events = Events::start().await;
    let stripe = channel(&events, "stripe", Some(SECRET)).await;
    let slack = channel(&events, "slack", Some(SECRET)).await;
    let at = now();
    let body = json!({ "id": "evt_1" });
    let sending = Sending::json(&body);
    let content = format!("v0:{at}:{body}");
    let tag = hex::encode(sha256(SECRET.as_bytes(), &content));
    let confused = sending
        .clone()
        .with("stripe-signature", format!("t={at},v1={tag},v0={tag}"));
    confused
        .to(&events, &stripe)
        .await
        .expect_error(401, "unauthenticated");
    // The signed text of one rule, sent as the body of another one.
    let github = channel(&events, "github", Some(SECRET)).await;
    let confused = sign_github(Sending::new("application/json", content), SECRET);
    confused
        .to(&events, &github)
        .await
        .expect_error(400, "invalid_request");
    let confused = sending.with("x-slack-signature", format!("v0={tag}"));
    confused
        .to(&events, &slack)
        .await
        .expect_error(401, "unauthenticated");
}

#[tokio::test]
async fn senders_with_tokens_are_taken_where_they_have_them() {
    let events = Events::start().await;
    for (preset, place) in [
        ("gitlab", "x-gitlab-token"),
        ("auth0", "authorization"),
        ("okta", "authorization"),
    ] {
        let channel = channel(&events, preset, None).await;
        let body = Sending::json(&json!({ "object_kind": "push", "type": "s" }));
        body.to(&events, &channel)
            .await
            .expect_error(401, "unauthenticated");
        body.clone()
            .with(place, "wrong")
            .to(&events, &channel)
            .await
            .expect_error(401, "unauthenticated");
        body.clone()
            .with(place, channel.token())
            .to(&events, &channel)
            .await
            .expect_status(accepted(&channel));
        body.with("authorization", format!("Bearer {}", channel.token()))
            .to(&events, &channel)
            .await
            .expect_status(accepted(&channel));
    }
    let figma = channel(&events, "figma", None).await;
    let body = |passcode: &str| {
        Sending::json(&json!({ "event_type": "FILE_UPDATE", "file_key": "f", "passcode": passcode }))
    };
    body("wrong")
        .to(&events, &figma)
        .await
        .expect_error(401, "unauthenticated");
    body(figma.token())
        .to(&events, &figma)
        .await
        .expect_status(accepted(&figma));
    let postmark = channel(&events, "postmark", None).await;
    let body = Sending::json(&json!({ "RecordType": "Delivery", "MessageID": "m" }));
    for (user, password, status) in [
        ("postmark", postmark.token(), 202),
        ("postmark", "wrong", 401),
        (postmark.token(), "", 401),
    ] {
        let basic = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        let answer = body
            .clone()
            .with("authorization", basic)
            .to(&events, &postmark)
            .await;
        assert_eq!(answer.status, status, "{user}");
    }
}

#[tokio::test]
async fn every_preset_makes_a_channel_and_its_parts_can_be_set_otherwise() {
    let events = Events::start().await;
    let listed = events
        .get(&events.token, "/events/presets")
        .await
        .expect_status(200);
    let presets = listed.body["presets"].as_array().unwrap().clone();
    assert!(presets.len() >= 40, "{}", presets.len());
    for preset in &presets {
        let name = preset["name"].as_str().unwrap();
        let mut body = json!({ "name": name, "source": name, "preset": name });
        match name {
            "sendgrid" => {
                let key = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
                body["signature"] = json!({ "public_key": key });
            }
            "discord" => body["signature"] = json!({ "public_key": "0".repeat(62) + "01" }),
            _ => {}
        }
        let created = events
            .post(&events.token, "/events/channels", &body)
            .await
            .expect_status(201)
            .body;
        assert_eq!(created["preset"], name);
        for part in ["handshakes", "token_header", "headers", "transform"] {
            assert_eq!(created[part], preset["settings"][part], "{name}: {part}");
        }
        // What is read can be sent back.
        let path = format!("/events/channels/{}", created["id"].as_str().unwrap());
        let read = events.get(&events.token, &path).await.expect_status(200).body;
        let put = events
            .put(&events.token, &path, &read)
            .await
            .expect_status(200)
            .body;
        assert_eq!(put["signature"], read["signature"], "{name}");
    }
    let body = json!({ "name": "n", "source": "s", "preset": "stripe", "default_action": "x", "headers": ["X-Own"],
        "transform": { "action_path": "kind" }, "signature": { "tolerance_seconds": 60 } });
    let created = events
        .post(&events.token, "/events/channels", &body)
        .await
        .expect_status(201)
        .body;
    assert_eq!(created["transform"]["action_path"], "kind");
    assert_eq!(
        created["transform"]["resource_id_path"],
        "data.object.id | related_object.id"
    );
    assert_eq!(created["signature"]["tolerance_seconds"], 60);
    assert_eq!(created["signature"]["prefix"], "v1=");
    assert_eq!(created["headers"], json!(["x-own"]));
    for (body, part) in [
        (json!({ "preset": "nothing" }), "there are"),
        (json!({ "preset": "discord" }), "public_key"),
        (
            json!({ "preset": "sendgrid", "signature": { "public_key": "AAAA" } }),
            "public_key",
        ),
        (
            json!({ "signature": { "header": "x", "content": "{{ nonsense }}" } }),
            "'nonsense'",
        ),
        (
            json!({ "signature": { "header": "x", "content": "{{ timestamp }}.{{ body }}" } }),
            "signature.timestamp",
        ),
        (
            json!({ "signature": { "header": "x", "timestamp": { "prefix": "t=" } } }),
            "separator",
        ),
        (
            json!({ "signature": { "header": "x", "timestamp": {} } }),
            "exactly one",
        ),
        (
            json!({ "signature": { "header": "x", "scheme": "rsa", "certificate": { "url": "header:x", "hosts": ["*.com"] } } }),
            "hosts",
        ),
        (
            json!({ "signature": { "header": "x", "secret_encoding": "hex" }, "signing_secret": "not hexadecimal" }),
            "hexadecimal",
        ),
        (json!({ "handshakes": [{ "answer": { "text": "x" } }] }), "when"),
        (
            json!({ "handshakes": [{ "method": "get", "answer": { "text": "{{ hmac:query:x }}" } }] }),
            "verified",
        ),
        (
            json!({ "handshakes": [{ "method": "get", "answer": { "headers": { "set-cookie": "x" } } }] }),
            "set-cookie",
        ),
        (json!({ "headers": ["authorization"] }), "authorization"),
        (json!({ "max_body_kb": 2_000 }), "1024"),
        (json!({ "token_header": "a b" }), "token_header"),
    ] {
        let mut whole = json!({ "name": "n", "source": "s" });
        whole
            .as_object_mut()
            .unwrap()
            .extend(body.as_object().unwrap().clone());
        let answer = events.post(&events.token, "/events/channels", &whole).await;
        let answer = answer.expect_error(400, "invalid_request");
        assert!(answer.message().contains(part), "{body}: {}", answer.message());
    }
}

#[tokio::test]
async fn other_methods_are_refused_without_a_handshake() {
    let events = Events::start().await;
    let plain = events.plain_channel().await;
    let sending = Sending::new("text/plain", String::new());
    for method in [Method::GET, Method::OPTIONS] {
        sending
            .by(method, &events, &plain)
            .await
            .expect_error(405, "invalid_request");
    }
}
