//! Tests deliveries from the ingest URL to the receiver: the request, its signature, the result, and the
//! operator's commands.

use serde_json::{Value, json};
use tests::{Events, Method, Receiver};

#[tokio::test]
async fn a_delivery_is_what_the_contract_says() {
    let events = Events::start().await;
    let mut body = events.webhook_body("/signed");
    body["target"]["signing_mode"] = json!("signed");
    body["target"]["headers"] = json!({ "X-Correlation-Id": "c-1", "user-agent": "ours", "content-type": "application/cloudevents+json" });
    let subscription = events.subscribe(&body).await;
    events
        .receiver
        .accept(subscription["signing_secret"].as_str().unwrap());
    let channel = events.plain_channel().await;
    let raw = r#"{"action":"Größe","a":1.0,"b":1e3,"big":123456789012345678901234567890,"u":"\u00e9","z":[],"y":{ }}"#;
    let posted = events
        .request(Method::POST, &channel.url)
        .token(channel.token())
        .body(raw);
    let event_id = posted.await.expect_status(202).body["event_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let delivery = events.delivery_of(&event_id, &["succeeded"]).await;
    let received = &events.received("/signed", 1).await[0];
    assert_eq!(received.signature, "verified");
    let id = delivery["id"].as_str().unwrap();
    let (subscription_id, now) = (
        subscription["id"].as_str().unwrap(),
        &received.json()["event"]["timestamp"],
    );
    let expected = format!(
        r#"{{"event":{{"event_id":"{event_id}","event_category":"external","action":"Größe","resource_type":"external_event","resource_id":"{event_id}","account_id":"{}","project_id":"{}","tenant_id":null,"timestamp":{now},"source":"external:tests","resource_data":{{}},"details":{{"payload":{raw}}},"meters":[]}},"delivery":{{"id":"{id}","subscription_id":"{subscription_id}","attempt":1}}}}"#,
        events.scope.account, events.scope.project,
    );
    assert_eq!(received.body, expected);
    for (name, value) in [
        ("x-service-event-id", event_id.as_str()),
        ("x-service-delivery-id", id),
        ("x-service-event-category", "external"),
        ("x-service-event-action", "Größe"),
        ("x-correlation-id", "c-1"),
        ("user-agent", "ours"),
        ("content-type", "application/cloudevents+json"),
        ("webhook-id", id),
    ] {
        assert_eq!(received.header(name), value, "{name}");
    }
    let run = events
        .get(
            &events.token,
            &format!(
                "/workflows/runs/{}/{}",
                delivery["workflow_id"].as_str().unwrap(),
                delivery["workflow_run_id"].as_str().unwrap()
            ),
        )
        .await
        .expect_status(200)
        .body;
    assert_eq!(
        delivery["workflow_id"],
        format!("delivery-{event_id}-{subscription_id}")
    );
    let started = run["started_at"]
        .as_str()
        .unwrap()
        .parse::<jiff::Timestamp>()
        .unwrap();
    assert_eq!(
        received.header("x-service-timestamp"),
        started.as_second().to_string()
    );
    assert_eq!(run["type"], "WebhookDelivery");

    let attempts = delivery["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(
        (&attempts[0]["attempt"], &attempts[0]["response_status"]),
        (&json!(1), &json!(200))
    );
    assert_eq!(
        (&attempts[0]["response_body"], attempts[0].get("error")),
        (&json!("ok"), None)
    );
    assert!(attempts[0]["duration_ms"].is_u64() && attempts[0]["started_at"].is_string());
    for (field, value) in [
        ("event_category", "external"),
        ("action", "Größe"),
        ("resource_type", "external_event"),
        ("source", "external:tests"),
        ("subscription_name", "To /signed"),
        ("target_type", "webhook"),
    ] {
        assert_eq!(delivery[field], value, "{field}");
    }
    assert_eq!(delivery["attempt_count"], 1);
}

#[tokio::test]
async fn a_secret_that_was_replaced_signs_beside_the_new_one() {
    let events = Events::start().await;
    let mut body = events.webhook_body("/signed");
    body["target"]["signing_mode"] = json!("signed");
    let subscription = events.subscribe(&body).await;
    let path = format!("/events/subscriptions/{}", subscription["id"].as_str().unwrap());
    let old = subscription["signing_secret"].as_str().unwrap().to_owned();
    let rotate = |more: Value| {
        let mut target = json!({ "rotate_signing_secret": true });
        target
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        events.put(&events.token, &path, &json!({ "target": target }))
    };
    let new = rotate(json!({})).await.expect_status(200).body["signing_secret"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(old, new);
    let channel = events.plain_channel().await;
    // A receiver that knows either secret accepts the request.
    events.receiver.accept(&old);
    events.event(&channel, &json!({})).await;
    let received = events.received("/signed", 1).await;
    assert_eq!(received[0].signature, "verified");
    assert_eq!(received[0].header("x-service-signature").split(',').count(), 2);
    assert_eq!(received[0].header("webhook-signature").split(' ').count(), 2);
    let newest = rotate(json!({ "rotate_immediately": true }))
        .await
        .expect_status(200)
        .body;
    events.event(&channel, &json!({})).await;
    let received = events.received("/signed", 2).await;
    assert_eq!(received[1].signature, "wrong");
    assert_eq!(received[1].header("x-service-signature").split(',').count(), 1);
    events.receiver.accept(newest["signing_secret"].as_str().unwrap());
    events.event(&channel, &json!({})).await;
    assert_eq!(events.received("/signed", 3).await[2].signature, "verified");
}

#[tokio::test]
async fn delivery_refused_for_good_is_not_retried() {
    let events = Events::start().await;
    let elsewhere = format!("/redirect?to={}/secret", events.receiver.origin);
    let channel = events.plain_channel().await;
    for (path, status, error) in [
        ("/status/400", 400, "The receiver answered with the status 400."),
        ("/status/404", 404, "The receiver answered with the status 404."),
        (
            elsewhere.as_str(),
            307,
            "The receiver answered with the status 307, a redirect, which is not followed.",
        ),
    ] {
        let subscription = events.webhook(path).await;
        let event = events.event(&channel, &json!({})).await;
        let delivery = events.delivery_of(&event, &["failed"]).await;
        assert_eq!(
            (&delivery["attempt_count"], &delivery["last_error"]),
            (&json!(1), &json!(error))
        );
        assert_eq!(delivery["attempts"][0]["response_status"], status);
        let path = format!("/events/subscriptions/{}", subscription["id"].as_str().unwrap());
        events.delete(&events.token, &path).await.expect_status(200);
    }
    assert!(events.receiver.received_at("/secret").is_empty());

    // A 410 disables the subscription for later events.
    let subscription = events.webhook("/status/410").await;
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["failed"]).await;
    assert_eq!(
        delivery["last_error"],
        "The receiver answered with the status 410, so the subscription is disabled."
    );
    let path = format!("/events/subscriptions/{}", subscription["id"].as_str().unwrap());
    let disabled = events.get(&events.token, &path).await.expect_status(200).body;
    assert_eq!(
        (&disabled["enabled"], &disabled["updated_by"]),
        (&json!(false), &json!("system"))
    );
    let trail = events
        .get(
            &events.token,
            "/audit-trail?resourceTypes=event_subscription&limit=1",
        )
        .await;
    let record = &trail.expect_status(200).body["events"][0];
    assert_eq!(
        (&record["principal_type"], &record["action"]),
        (&json!("system"), &json!("update"))
    );
}

#[tokio::test]
async fn transient_failure_is_retried_and_the_operator_can_hurry_or_end_it() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let subscription = events.webhook("/status/503").await;
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["retrying"]).await;
    let id = delivery["id"].as_str().unwrap();
    assert_eq!(
        delivery["last_error"],
        "The receiver answered with the status 503."
    );
    let at = |field: &Value| field.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let pause =
        at(&delivery["next_attempt_at"]).as_millisecond() - at(&delivery["updated_at"]).as_millisecond();
    assert!(
        (3_900..=6_100).contains(&pause),
        "{pause} ms are not about five seconds"
    );

    // The waiting attempt is made now, and not again later.
    events.scope.ops(&["delivery", "retry", id]).expect_success();
    let again = events.received("/status/503", 2).await;
    assert_eq!(again[0].delivery_id(), again[1].delivery_id());
    assert_eq!(again[1].json()["delivery"]["attempt"], 2);
    // The subscription gets the URL of a receiver that works.
    let path = format!("/events/subscriptions/{}", subscription["id"].as_str().unwrap());
    let mended = json!({ "target": { "url": format!("{}/mended", events.receiver.origin) } });
    events.put(&events.token, &path, &mended).await.expect_status(200);
    events.scope.ops(&["delivery", "retry", id]).expect_success();
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(
        (
            &delivery["attempt_count"],
            delivery.get("last_error"),
            delivery.get("next_attempt_at")
        ),
        (&json!(3), None, None)
    );
    assert_eq!(events.received("/mended", 1).await[0].delivery_id(), id);
    events.scope.ops(&["delivery", "cancel", id]).expect_refusal();

    // An ended delivery is delivered again under the same id.
    events.scope.ops(&["delivery", "retry", id]).expect_success();
    let more = events.received("/mended", 2).await;
    assert_eq!(
        (more[1].delivery_id(), &more[1].json()["delivery"]["attempt"]),
        (id, &json!(4))
    );

    let away = json!({ "target": { "url": format!("{}/status/500", events.receiver.origin) } });
    events.put(&events.token, &path, &away).await.expect_status(200);
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["retrying"]).await;
    events
        .scope
        .ops(&["delivery", "cancel", delivery["id"].as_str().unwrap()])
        .expect_success();
    let delivery = events.delivery_of(&event, &["cancelled"]).await;
    assert_eq!(
        (&delivery["attempt_count"], delivery.get("next_attempt_at")),
        (&json!(1), None)
    );
    for arguments in [
        ["delivery", "retry", "none"],
        ["delivery", "cancel", "none"],
        ["delivery", "show", "none"],
    ] {
        events.scope.ops(&arguments).expect_refusal();
    }
}

#[tokio::test]
async fn failed_delivery_is_sent_after_a_retry_by_the_operator() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let subscription = events.webhook("/status/422").await;
    let mut failed = Vec::new();
    for n in 0..5 {
        failed.push(events.event(&channel, &json!({ "n": n })).await);
    }
    for event in &failed {
        events.delivery_of(event, &["failed"]).await;
    }
    let id = subscription["id"].as_str().unwrap();
    let listed = events
        .scope
        .ops_json(&["delivery", "list", "--status", "failed", "--subscription", id]);
    assert_eq!(listed.as_array().unwrap().len(), 5);
    let mended = json!({ "target": { "url": format!("{}/mended", events.receiver.origin) } });
    events
        .put(&events.token, &format!("/events/subscriptions/{id}"), &mended)
        .await
        .expect_status(200);
    let redriven = events
        .scope
        .ops_json(&["delivery", "redrive", "--subscription", id]);
    assert_eq!(redriven["redriven"].as_array().unwrap().len(), 5);
    for event in &failed {
        let delivery = events.delivery_of(event, &["succeeded"]).await;
        assert_eq!(delivery["attempt_count"], 2);
    }
    assert_eq!(events.receiver.received_at("/mended").len(), 5);
}

#[tokio::test]
async fn a_change_of_a_subscription_takes_effect_at_once() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let subscription = events.webhook("/first").await;
    let witness = events.webhook("/witness").await;
    let path = format!("/events/subscriptions/{}", subscription["id"].as_str().unwrap());
    for round in 1..=10 {
        events.event(&channel, &json!({ "round": round })).await;
        events.received("/first", round).await;
        events
            .put(&events.token, &path, &json!({ "enabled": false }))
            .await
            .expect_status(200);
        // The delivery of a second subscription proves that the event was matched.
        let unseen = events.event(&channel, &json!({ "round": round })).await;
        let delivery = events.delivery_of(&unseen, &["succeeded"]).await;
        assert_eq!(delivery["subscription_id"], witness["id"]);
        events
            .put(&events.token, &path, &json!({ "enabled": true }))
            .await
            .expect_status(200);
    }
    assert_eq!(events.receiver.received_at("/first").len(), 10);
    let witness = format!("/events/subscriptions/{}", witness["id"].as_str().unwrap());
    events.delete(&events.token, &witness).await.expect_status(200);
    // A delivery that waits for its next attempt is cancelled when its subscription is disabled or deleted.
    let away = json!({ "target": { "url": format!("{}/status/500", events.receiver.origin) } });
    events.put(&events.token, &path, &away).await.expect_status(200);
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["retrying"]).await;
    events
        .put(&events.token, &path, &json!({ "enabled": false }))
        .await
        .expect_status(200);
    events
        .scope
        .ops(&["delivery", "retry", delivery["id"].as_str().unwrap()])
        .expect_success();
    let delivery = events.delivery_of(&event, &["cancelled"]).await;
    assert_eq!(delivery["last_error"], "The subscription is disabled.");
    events
        .scope
        .ops(&["delivery", "retry", delivery["id"].as_str().unwrap()])
        .expect_refusal();
}

#[tokio::test]
async fn a_receiver_that_was_away_gets_everything_when_it_is_back_locally() {
    let mut events = Events::start_local().await;
    let channel = events.plain_channel().await;
    let (receiver, serving) = Receiver::bind(0, Vec::new()).await.unwrap();
    let serving = tokio::spawn(serving);
    let mut body = events.webhook_body("/");
    body["target"]["url"] = json!(format!("{}/back", receiver.origin));
    events.subscribe(&body).await;
    let port: u16 = receiver.origin.rsplit(':').next().unwrap().parse().unwrap();
    serving.abort();
    let _ = serving.await;
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["retrying"]).await;
    let error = delivery["last_error"].as_str().unwrap();
    assert!(
        error.starts_with("Nothing was delivered to the URL: it cannot be reached"),
        "{error}"
    );
    assert_eq!(delivery["attempts"][0].get("response_status"), None);
    events.service.restart();
    let (receiver, serving) = Receiver::bind(port, Vec::new()).await.unwrap();
    tokio::spawn(serving);
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(receiver.received().len(), 1);
    assert_eq!(
        receiver.received()[0].delivery_id(),
        delivery["id"].as_str().unwrap()
    );
}
