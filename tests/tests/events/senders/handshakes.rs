//! Tests the requests by which senders ask whether a URL wants their events: they are answered as each sender
//! expects, and make no event.

use serde_json::{Value, json};
use tests::events::Channel;
use tests::{Answer, Events, Method};

use super::signing::{Sending, channel, iso, now, sha256};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

async fn ask(events: &Events, channel: &Channel, method: Method, sending: Sending) -> Answer {
    sending.by(method, events, channel).await
}

fn empty() -> Sending {
    Sending::new("text/plain", String::new())
}

/// Fails if the project has an external event besides one that it sends to the channel.
async fn assert_no_event(events: &Events, channel: &Channel) {
    let marker = events.event(channel, &json!({ "action": "marker" })).await;
    events.delivery_of(&marker, &["succeeded"]).await;
    let requests = events.receiver.received_at("/all");
    let actions: Vec<_> = requests
        .iter()
        .map(|request| request.json()["event"]["action"].clone())
        .collect();
    assert!(actions.iter().all(|action| action == "marker"), "{actions:?}");
}

#[tokio::test]
async fn handshakes_are_answered_and_make_no_event() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let plain = events.plain_channel().await;

    let slack = channel(&events, "slack", Some(SECRET)).await;
    let question = json!({ "type": "url_verification", "challenge": "abc<script>", "token": "t" });
    let answer = ask(&events, &slack, Method::POST, Sending::json(&question))
        .await
        .expect_status(200);
    assert_eq!(answer.text(), "abc<script>");
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");

    let meta = channel(&events, "meta", Some(SECRET)).await;
    let query =
        |token: &str| format!("?hub.mode=subscribe&hub.verify_token={token}&hub.challenge=1158201444");
    let answer = ask(&events, &meta, Method::GET, empty().query(query(meta.token())))
        .await
        .expect_status(200);
    assert_eq!(answer.text(), "1158201444");
    ask(&events, &meta, Method::GET, empty().query(query("wrong")))
        .await
        .expect_error(401, "unauthenticated");

    let zoom = channel(&events, "zoom", Some(SECRET)).await;
    let question = json!({ "event": "endpoint.url_validation", "payload": { "plainToken": "qgg8" } });
    let unsigned = Sending::json(&question);
    ask(&events, &zoom, Method::POST, unsigned.clone())
        .await
        .expect_error(401, "unauthenticated");
    let at = now();
    let tag = hex::encode(sha256(SECRET.as_bytes(), &format!("v0:{at}:{question}")));
    let signed = unsigned
        .with("x-zm-request-timestamp", at.to_string())
        .with("x-zm-signature", format!("v0={tag}"));
    let answer = ask(&events, &zoom, Method::POST, signed).await.expect_status(200);
    let encrypted = hex::encode(sha256(SECRET.as_bytes(), "qgg8"));
    assert_eq!(
        answer.body,
        json!({ "plainToken": "qgg8", "encryptedToken": encrypted })
    );

    for preset in ["trello", "intercom"] {
        let channel = channel(&events, preset, Some(SECRET)).await;
        ask(&events, &channel, Method::HEAD, empty())
            .await
            .expect_status(200);
    }
    let shop = channel(&events, "woocommerce", None).await;
    ask(&events, &shop, Method::POST, Sending::form("webhook_id=12"))
        .await
        .expect_status(200);

    for preset in ["cloudevents", "azure_event_grid"] {
        let channel = channel(&events, preset, None).await;
        let question = empty()
            .with("webhook-request-origin", "eventemitter.example.com")
            .with("webhook-request-rate", "120");
        let answer = ask(&events, &channel, Method::OPTIONS, question)
            .await
            .expect_status(200);
        assert_eq!(
            answer.header("webhook-allowed-origin"),
            "eventemitter.example.com"
        );
        assert_eq!(answer.header("webhook-allowed-rate"), "*");
    }
    let grid = channel(&events, "azure_event_grid", None).await;
    let question = json!([{ "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "id": "1", "data": { "validationCode": "512d38b6" } }]);
    let question = Sending::json(&question).with("aeg-event-type", "SubscriptionValidation");
    let answer = ask(&events, &grid, Method::POST, question)
        .await
        .expect_status(200);
    assert_eq!(answer.body, json!({ "validationResponse": "512d38b6" }));

    let okta = channel(&events, "okta", None).await;
    let answer = ask(
        &events,
        &okta,
        Method::GET,
        empty().with("x-okta-verification-challenge", "c1"),
    )
    .await
    .expect_status(200);
    assert_eq!(answer.body, json!({ "verification": "c1" }));
    let graph = channel(&events, "microsoft_graph", None).await;
    let answer = ask(
        &events,
        &graph,
        Method::POST,
        empty().query("?validationToken=a%20b"),
    )
    .await
    .expect_status(200);
    assert_eq!(answer.text(), "a b");
    let dropbox = channel(&events, "dropbox", Some(SECRET)).await;
    let answer = ask(&events, &dropbox, Method::GET, empty().query("?challenge=xyz"))
        .await
        .expect_status(200);
    assert_eq!(answer.text(), "xyz");
    assert_no_event(&events, &plain).await;
}

#[tokio::test]
async fn a_handshake_brings_the_secret_once() {
    let events = Events::start().await;
    let asana = channel(&events, "asana", None).await;
    let path = format!("/events/channels/{}", asana.id());
    let body = Sending::json(&json!({ "events": [] }));
    let sign = |secret: &str| {
        let tag = hex::encode(sha256(secret.as_bytes(), &body.body));
        body.clone().with("x-hook-signature", tag)
    };
    sign(SECRET)
        .to(&events, &asana)
        .await
        .expect_error(401, "unauthenticated");
    let question = |secret: &str| Sending::json(&json!({})).with("x-hook-secret", secret);
    for _ in 0..2 {
        let answer = question(SECRET).to(&events, &asana).await.expect_status(200);
        assert_eq!(answer.header("x-hook-secret"), SECRET);
    }
    sign(SECRET).to(&events, &asana).await.expect_status(202);
    // Another one cannot take its place before the owner says so.
    question("another secret")
        .to(&events, &asana)
        .await
        .expect_error(400, "invalid_request");
    sign("another secret")
        .to(&events, &asana)
        .await
        .expect_error(401, "unauthenticated");
    events
        .put(&events.token, &path, &json!({ "rotate_signing_secret": true }))
        .await
        .expect_status(200);
    question("another secret")
        .to(&events, &asana)
        .await
        .expect_status(200);
    sign("another secret")
        .to(&events, &asana)
        .await
        .expect_status(202);

    let notion = channel(&events, "notion", None).await;
    let path = format!("/events/channels/{}", notion.id());
    let question = Sending::json(&json!({ "verification_token": SECRET }));
    question.to(&events, &notion).await.expect_status(200);
    let view = events.get(&events.token, &path).await.expect_status(200).body;
    assert_eq!(view["received_secret"], SECRET);
    assert_eq!(view["signature"]["has_secret"], true);
    let reader = events.scope.token(tests::Persona::Reader);
    let view = events.get(&reader, &path).await.expect_status(200).body;
    assert_eq!(view["received_secret"], Value::Null);
}

#[tokio::test]
async fn subscriptions_are_confirmed_at_their_sender_alone() {
    let events = Events::start().await;
    let sns = channel(&events, "aws_sns", None).await;
    for certificate in [
        "https://evil.example/cert.pem",
        "http://sns.eu-west-1.amazonaws.com/cert.pem",
        "https://sns.eu-west-1.amazonaws.com.evil.example/cert.pem",
        "https://sns.eu-west-1.amazonaws.com@127.0.0.1/cert.pem",
        "https://127.0.0.1/sns.eu-west-1.amazonaws.com",
        "file:///etc/passwd",
    ] {
        let question = json!({
            "Type": "SubscriptionConfirmation", "MessageId": "m", "Token": "t", "TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": "x",
            "SubscribeURL": format!("{}/confirm", events.receiver.origin), "Timestamp": iso(now()),
            "SignatureVersion": "1", "Signature": "AAAA", "SigningCertURL": certificate,
        });
        let question = Sending::new("text/plain; charset=UTF-8", question.to_string())
            .query(format!("?token={}", sns.token()));
        question
            .to(&events, &sns)
            .await
            .expect_error(401, "unauthenticated");
    }
    assert!(events.receiver.received_at("/confirm").is_empty());
    let path = format!("/events/channels/{}", sns.id());
    let refusals = events.get(&events.token, &path).await.expect_status(200).body["refusals"].clone();
    assert_eq!(refusals["counts"]["certificate_refused"], 6, "{refusals}");
}
