//! From the ingest URL to the receiver: what is sent, how it is signed, what comes of it, and what an operator does about it.
#![cfg(test)]

use std::time::Instant;

use serde_json::{Value, json};
use tests::runs::{PAUSE, WITHIN};
use tests::{Events, Method, Receiver};

#[tokio::test]
async fn a_delivery_is_what_the_contract_says() {
    let Some(events) = Events::start().await else {
        return;
    };
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
        r#"{{"event":{{"event_id":"{event_id}","event_category":"external","action":"Größe","resource_type":"external_event","resource_id":"{event_id}","account_id":"{}","project_id":"{}","timestamp":{now},"source":"external:tests","details":{{"payload":{raw}}}}},"delivery":{{"id":"{id}","subscription_id":"{subscription_id}","attempt":1}}}}"#,
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
    let Some(events) = Events::start().await else {
        return;
    };
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
    // Who knows either of them is satisfied.
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
async fn what_a_receiver_refuses_for_good_is_not_sent_again() {
    let Some(events) = Events::start().await else {
        return;
    };
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

    // Gone is gone for all that comes after.
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
async fn what_may_pass_is_tried_again_and_an_operator_can_hurry_or_end_it() {
    let Some(events) = Events::start().await else {
        return;
    };
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

    // The one that waits is made now, and in its place.
    events.scope.ops(&["delivery", "retry", id]).expect_success();
    let again = events.received("/status/503", 2).await;
    assert_eq!(again[0].delivery_id(), again[1].delivery_id());
    assert_eq!(again[1].json()["delivery"]["attempt"], 2);
    // The receiver is mended, and the subscription says where.
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

    // One that ended is delivered once more as the same.
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
async fn what_failed_is_delivered_once_the_operator_says_so() {
    let Some(events) = Events::start().await else {
        return;
    };
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
    let Some(events) = Events::start().await else {
        return;
    };
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
        // Whoever still gets it says that it was matched.
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
    // What waits for its next attempt is given up by a subscription that is disabled, and by one that is gone.
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
async fn a_workflow_target_starts_the_run_that_it_names() {
    let Some(events) = Events::start().await else {
        return;
    };
    let channel = events.plain_channel().await;
    let subscribe = |endpoint: &str| {
        let body = json!({
            "name": endpoint, "run_as_role": "executor", "filter": { "event_category": ["external"], "action": [endpoint] },
            "target": { "type": "workflow", "endpoint": endpoint, "workflow_class": "demo", "vars": { "documents": [], "type": "Steps" } },
        });
        let events = &events;
        async move { events.subscribe(&body).await }
    };
    let subscription = subscribe("Approval").await;
    let sent = json!({ "action": "Approval", "resource_type": "content_object", "resource_id": "doc-1" });
    let event = events.event(&channel, &sent).await;
    let delivery = events.delivery_of(&event, &["running"]).await;
    let run = format!(
        "/workflows/runs/{}/{}",
        delivery["workflow_id"].as_str().unwrap(),
        delivery["workflow_run_id"].as_str().unwrap()
    );
    let detail = events.get(&events.token, &run).await.expect_status(200).body;
    assert_eq!(
        detail["input"]["vars"],
        json!({ "documents": [], "type": "Steps" })
    );
    assert_eq!(detail["input"]["event"]["event_id"], event.as_str());
    assert_eq!(detail["input"]["event"]["details"]["payload"], sent);
    let delivery_part = json!({ "id": delivery["id"], "subscription_id": subscription["id"], "attempt": 1 });
    assert_eq!(detail["input"]["delivery"], delivery_part);
    // Listings find it by what the event and the subscription say.
    for filter in [
        json!({ "rule_id": subscription["id"] }),
        json!({ "event_name": "Approval" }),
        json!({ "document_id": "doc-1" }),
    ] {
        let found = events
            .post(&events.token, "/workflows/runs", &filter)
            .await
            .expect_status(200)
            .body;
        assert_eq!(found["runs"].as_array().unwrap().len(), 1, "{filter}: {found}");
    }
    let done = events
        .post(
            &events.token,
            &format!("{run}/signal/Approve"),
            &json!({ "message": "yes" }),
        )
        .await;
    done.expect_status(200);
    events.delivery_of(&event, &["succeeded"]).await;

    subscribe("Nothing").await;
    let event = events.event(&channel, &json!({ "action": "Nothing" })).await;
    let delivery = events.delivery_of(&event, &["failed"]).await;
    let why = delivery["last_error"].as_str().unwrap();
    assert!(
        why.starts_with("There is no workflow type 'Nothing'; there are "),
        "{why}"
    );
    assert_eq!(delivery.get("workflow_run_id"), None);
}

#[tokio::test]
async fn a_condition_without_an_answer_and_one_that_no_model_decides_are_told() {
    let Some(events) = Events::start().await else {
        return;
    };
    let channel = events.plain_channel().await;
    let subscribe = |path: &str, filter: Value| {
        let mut body = events.webhook_body(path);
        body["filter"] = filter;
        let events = &events;
        async move { events.subscribe(&body).await }
    };
    let semantic = |mode: &str, on_error: &str| json!({ "action": [format!("{mode}-{on_error}")], "semantic_condition": { "instruction": "It is urgent.", "mode": mode, "on_error": on_error } });
    for (mode, on_error, status) in [
        ("enforce", "fail_closed", "failed"),
        ("enforce", "fail_open", "succeeded"),
        ("shadow", "fail_closed", "succeeded"),
    ] {
        subscribe("/semantic", semantic(mode, on_error)).await;
        let event = events
            .event(&channel, &json!({ "action": format!("{mode}-{on_error}") }))
            .await;
        let delivery = events.delivery_of(&event, &[status]).await;
        let evaluation = &delivery["semantic_evaluation"];
        assert_eq!(
            (&evaluation["status"], &evaluation["mode"]),
            (&json!("error"), &json!(mode))
        );
        assert_eq!(evaluation["evaluator_type"], "interaction");
        assert!(
            evaluation["error"]
                .as_str()
                .unwrap()
                .contains("No model is configured")
        );
    }
    let numbers: Vec<u32> = (0..2_000).collect();
    let costly = json!({ "some": [{ "var": "details.payload.n" }, { "none": [numbers[..900], { "==": [{ "var": "" }, "x"] }] }] });
    subscribe("/costly", json!({ "action": ["costly"], "condition": costly })).await;
    let event = events
        .event(&channel, &json!({ "action": "costly", "n": numbers }))
        .await;
    let delivery = events.delivery_of(&event, &["failed"]).await;
    assert_eq!(
        delivery["last_error"],
        "The condition could take more than 5000000 steps on this event."
    );
}

#[tokio::test]
async fn events_of_other_services_are_matched_and_what_is_none_is_set_aside_with_the_reason() {
    let Some(events) = Events::start().await else {
        return;
    };
    let mut body = events.webhook_body("/content");
    body["filter"] = json!({ "event_category": ["content"], "condition": { "==": [{ "var": "resource_data.metadata.type" }, "invoice"] } });
    events.subscribe(&body).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("event.json");
    let envelope = |kind: &str| {
        json!({
            "event_id": format!("cms-{kind}"), "event_category": "content", "action": "document_processed", "resource_type": "content_object",
            "resource_id": "doc-1", "account_id": events.scope.account, "project_id": events.scope.project,
            "timestamp": "2026-01-02T03:04:05Z", "source": "cms", "resource_data": { "metadata": { "type": kind } },
            "details": { "schema_version": 1, "page_count": 3, "verdict": "needs_review", "more": true },
            "meters": [{ "category": "processing", "type": "pages", "quantity": 3.0 }],
        })
    };
    let command = |verb: &str, envelope: &Value| {
        std::fs::write(&file, envelope.to_string()).unwrap();
        events
            .scope
            .ops(&["--json", "event", verb, "--file", file.to_str().unwrap()])
    };
    // First what would come of it, then the thing itself.
    for (kind, why) in [
        ("invoice", Value::Null),
        ("letter", json!("condition is not true")),
    ] {
        let verdicts: Value =
            serde_json::from_str(&command("match", &envelope(kind)).expect_success().stdout).unwrap();
        assert_eq!(
            (&verdicts[0]["matches"], &verdicts[0]["why_not"]),
            (&json!(why.is_null()), &why)
        );
    }
    assert!(events.receiver.received().is_empty());
    for _ in 0..3 {
        command("publish", &envelope("invoice")).expect_success();
        command("publish", &envelope("letter")).expect_success();
    }
    let delivery = events.delivery_of("cms-invoice", &["succeeded"]).await;
    assert_eq!(delivery["source"], "cms");
    let received = events.received("/content", 1).await;
    let mut sent = envelope("invoice");
    sent["timestamp"] = json!("2026-01-02T03:04:05.000Z");
    assert_eq!(received[0].json()["event"], sent);
    assert_eq!(events.receiver.received().len(), 1);

    let mut wrong = envelope("invoice");
    wrong["details"]["page_count"] = json!("three");
    let refused = command("publish", &wrong).expect_refusal();
    assert!(
        refused.stderr.contains("$.details.page_count"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn deliveries_are_found_by_whatever_is_known_of_them() {
    let Some(events) = Events::start().await else {
        return;
    };
    let channel = events.plain_channel().await;
    let good = events.webhook("/good").await;
    let mut body = events.webhook_body("/status/404");
    body["filter"]["action"] = json!(["odd"]);
    let bad = events.subscribe(&body).await;
    let mut ids = Vec::new();
    for n in 0..12 {
        let action = if n % 2 == 1 { "odd" } else { "even" };
        let sent =
            json!({ "action": action, "resource_type": "thing", "resource_id": format!("r-{}", n % 3) });
        ids.push(events.event(&channel, &sent).await);
    }
    let deadline = Instant::now() + WITHIN;
    while events
        .deliveries(&json!({ "status": ["succeeded", "failed"] }))
        .await
        .len()
        < 18
    {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(PAUSE).await;
    }
    let all = events.deliveries(&json!({})).await;
    assert_eq!(all.len(), 18);
    assert!(
        all.windows(2)
            .all(|pair| pair[0]["created_at"].as_str() >= pair[1]["created_at"].as_str())
    );
    for (search, count) in [
        (json!({ "event_id": ids[1] }), 2),
        (json!({ "event_id": ids[1], "status": ["failed"] }), 1),
        (json!({ "resource_id": "r-0" }), 6),
        (json!({ "subscription_id": good["id"] }), 12),
        (
            json!({ "subscription_id": bad["id"], "status": ["succeeded"] }),
            0,
        ),
        (json!({ "status": ["failed"] }), 6),
        (json!({ "status": ["failed", "succeeded", "failed"] }), 18),
        (json!({ "status": ["pending", "cancelled"] }), 0),
        (json!({ "status": [] }), 18),
        (json!({ "target_type": ["workflow"] }), 0),
        (
            json!({ "target_type": ["workflow", "webhook"], "event_category": ["external"] }),
            18,
        ),
        (json!({ "action": ["odd"], "resource_type": ["thing"] }), 12),
        (json!({ "from": "2999-01-01T00:00:00Z" }), 0),
        (json!({ "to": "2999-01-01T00:00:00Z" }), 18),
        (
            json!({ "from": all[4]["created_at"], "to": all[0]["created_at"] }),
            5,
        ),
        (json!({ "event_id": "none" }), 0),
        (json!({ "event_id": "x".repeat(3_000) }), 0),
    ] {
        let found = events.deliveries(&search).await;
        assert!(
            found.len() == count || (search.get("from").is_some() && found.len() >= count),
            "{search}: {}",
            found.len()
        );
    }
    // Page by page it is the same list.
    for search in [
        json!({}),
        json!({ "status": ["failed", "succeeded"] }),
        json!({ "action": ["odd"] }),
    ] {
        let whole = events.deliveries(&search).await;
        let (mut paged, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let mut page = search.clone();
            page["limit"] = json!(5);
            page["cursor"] = cursor;
            let answer = events
                .post(&events.token, "/events/deliveries/search", &page)
                .await
                .expect_status(200)
                .body;
            paged.extend(answer["deliveries"].as_array().unwrap().clone());
            match answer.get("next_cursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        assert_eq!(paged, whole, "{search}");
    }
    for (search, message) in [
        (json!({ "limit": 0 }), "The field 'limit' must be from 1 to 200."),
        (
            json!({ "limit": 201 }),
            "The field 'limit' must be from 1 to 200.",
        ),
        (
            json!({ "status": ["done"] }),
            "The field 'status' names 'done'; there are evaluating, pending, running, retrying, succeeded, failed, cancelled.",
        ),
        (json!({ "status": "failed" }), "$.status"),
        (json!({ "cursor": "x" }), "does not belong to this listing"),
        (json!({ "from": "yesterday" }), "$.from"),
    ] {
        let refused = events
            .post(&events.token, "/events/deliveries/search", &search)
            .await
            .expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(message),
            "{search}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn a_receiver_that_was_away_gets_everything_when_it_is_back() {
    let Some(mut events) = Events::start().await else {
        return;
    };
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
