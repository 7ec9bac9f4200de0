//! Tests messages to a chat: the filled template of a subscription is the body that an incoming webhook of
//! Slack takes.

use serde_json::{Value, json};
use tests::Events;

use super::{Answer, Arrival, Site, id_of, subscription};

const SUBSCRIPTIONS: &str = "/events/subscriptions";
const PATH: &str = "/services/T000/B000/key";
const TEXT: &str = "Order {{ event.resource_id }}: {{ event.details.payload.amount }} € \
                    for {{ event.details.payload.name }}";

/// Answers as an incoming webhook of Slack does.
fn slack(arrival: &Arrival) -> Answer {
    let refusal = |body| Answer {
        body,
        ..Answer::from(400)
    };
    if !arrival.header("content-type").starts_with("application/json") {
        return refusal("invalid_payload");
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(&arrival.body) else {
        return refusal("invalid_payload");
    };
    match fields.get("text").and_then(Value::as_str) {
        Some(text) if !text.is_empty() && fields.len() == 1 => Answer::from(200),
        _ => refusal("no_text"),
    }
}

fn target(template: &Value) -> Value {
    json!({ "payload_mode": "template", "template": template })
}

#[tokio::test]
async fn chat_gets_the_filled_text_alone() {
    let events = Events::start().await;
    let site = Site::start().await;
    site.answer_by(slack);
    let template = target(&json!({ "text": TEXT }));
    events
        .subscribe(&subscription(&site, PATH, &json!({}), &template))
        .await;
    let channel = events.plain_channel().await;
    for (name, expected) in [
        ("Ada", r#"{"text":"Order A-100: 12.50 € for Ada"}"#),
        // What the outsider writes stays within the text.
        (
            "\"}, {{ event.event_id }}\n\u{1f600}",
            r#"{"text":"Order A-100: 12.50 € for \"}, {{ event.event_id }}\n😀"}"#,
        ),
    ] {
        let name = Value::from(name);
        let body =
            format!(r#"{{"resource_id":"A-100","payload":{{"amount":0}},"amount":12.50,"name":{name}}}"#);
        let request = events.request(tests::Method::POST, &channel.url);
        let answer = request
            .token(channel.token())
            .header("content-type", "application/json")
            .body(body)
            .await
            .expect_status(202);
        let event = answer.body["event_id"].as_str().unwrap();
        let delivery = events.delivery_of(event, &["succeeded"]).await;
        assert_eq!(delivery["attempts"][0]["response_body"], "ok", "{delivery}");
        let arrivals = site.arrivals();
        let arrival = arrivals.last().unwrap();
        assert_eq!((arrival.path.as_str(), arrival.body.as_str()), (PATH, expected));
        assert_eq!(arrival.header("content-type"), "application/json");
        assert_eq!(arrival.event_id(), event);
    }
    assert_eq!(site.arrivals().len(), 2);
}

#[tokio::test]
async fn signature_of_a_filled_body_is_over_that_body() {
    let events = Events::start().await;
    let site = Site::start().await;
    site.answer_by(slack);
    let mut target = target(&json!({ "text": "{{ event.details.payload.note }} — ü" }));
    target["signing_mode"] = json!("signed");
    let created = events
        .subscribe(&subscription(&site, PATH, &json!({}), &target))
        .await;
    let channel = events.plain_channel().await;
    let event = events.event(&channel, &json!({ "note": "Grüße" })).await;
    events.delivery_of(&event, &["succeeded"]).await;
    let arrival = site.arrivals().remove(0);
    assert_eq!(arrival.body, r#"{"text":"Grüße — ü"}"#);
    arrival.check_signatures(created["signing_secret"].as_str().unwrap());
}

#[tokio::test]
async fn wrong_template_is_refused_with_its_field_and_what_is_right() {
    let events = Events::start().await;
    let site = Site::start().await;
    let not_a_template = |text: &str| {
        format!(
            "The field 'target.template.text' has '{text}', which is no template; there are $event, \
             $event.<path>, {{{{ event.<path> }}}}, $event_ref and $delivery.id, where a path is as in \
             details.payload.id."
        )
    };
    let missing = "The field 'target.template' is missing; it is the body of requests whose \
                   'target.payload_mode' is 'template'.";
    let unused =
        "The field 'target.template' is not used; set 'target.payload_mode' to 'template', or leave it out.";
    let text = |text: &str| target(&json!({ "text": text }));
    let cases = [
        (text("$event."), not_a_template("$event.")),
        (text("$delivery.attempt"), not_a_template("$delivery.attempt")),
        (
            text("Order {{ event.a..b }}"),
            not_a_template("Order {{ event.a..b }}"),
        ),
        (json!({ "payload_mode": "template" }), missing.to_owned()),
        (
            json!({ "payload_mode": "template", "template": null }),
            missing.to_owned(),
        ),
        (json!({ "template": { "text": "x" } }), unused.to_owned()),
        (
            text(&"x".repeat(70_000)),
            "The field 'target.template' has at most 65536 bytes.".to_owned(),
        ),
    ];
    let working = subscription(&site, PATH, &json!({}), &text(TEXT));
    let path = format!("{SUBSCRIPTIONS}/{}", id_of(&events.subscribe(&working).await));
    for (wrong, message) in cases {
        let body = subscription(&site, PATH, &json!({}), &wrong);
        let refusal = events.post(&events.token, SUBSCRIPTIONS, &body).await;
        let refusal = refusal.expect_error(400, "invalid_request");
        assert_eq!(refusal.message(), message);
    }
    let mut wrong = working["target"].clone();
    wrong["template"] = json!({ "text": "$event." });
    let refusal = events
        .put(&events.token, &path, &json!({ "target": wrong }))
        .await;
    refusal.expect_error(400, "invalid_request");
    let record = events.get(&events.token, &path).await.expect_status(200).body;
    assert_eq!(record["target"]["template"], json!({ "text": TEXT }));
}

#[tokio::test]
async fn text_that_looks_like_a_template_has_a_warning() {
    let events = Events::start().await;
    let site = Site::start().await;
    for (text, part) in [
        ("{{ payload.amount }}", "'{{ payload.amount }}'"),
        ("Order {{ event.payload.amount }}", "payload"),
    ] {
        let template = target(&json!({ "text": text }));
        let created = events
            .subscribe(&subscription(&site, PATH, &json!({}), &template))
            .await;
        let warnings = created["warnings"].as_array().unwrap();
        let is_named = |warning: &Value| {
            let warning = warning.as_str().unwrap();
            warning.contains("target.template") && warning.contains(part)
        };
        assert!(warnings.iter().any(is_named), "{text}: {warnings:?}");
    }
}

#[tokio::test]
async fn delivery_without_a_named_value_fails_with_its_name_and_is_made_with_a_mended_template() {
    let events = Events::start().await;
    let site = Site::start().await;
    site.answer_by(slack);
    let template = target(&json!({ "text": "Order of {{ event.details.payload.customer.name }}" }));
    let created = events
        .subscribe(&subscription(&site, PATH, &json!({}), &template))
        .await;
    let channel = events.plain_channel().await;
    let event = events.event(&channel, &json!({ "customer": { "id": 7 } })).await;
    let delivery = events.delivery_of(&event, &["failed"]).await;
    assert_eq!(
        delivery["last_error"],
        "The field 'target.template' cannot be filled: the template names \
         'event.details.payload.customer.name', which the event does not have."
    );
    assert_eq!(site.arrivals().len(), 0, "nothing is sent");

    let path = format!("{SUBSCRIPTIONS}/{}", id_of(&created));
    let mut mended = subscription(&site, PATH, &json!({}), &template)["target"].take();
    mended["template"]["text"] = json!("Order of {{ event.details.payload.customer.id }}");
    let mended = json!({ "target": mended });
    events.put(&events.token, &path, &mended).await.expect_status(200);
    let retry = format!("/events/deliveries/{}/retry", delivery["id"].as_str().unwrap());
    events
        .post(&events.token, &retry, &json!({}))
        .await
        .expect_status(200);
    events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(site.arrivals()[0].body, r#"{"text":"Order of 7"}"#);
}
