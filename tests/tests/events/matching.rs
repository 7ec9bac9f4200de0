//! Tests the results of a match: a run, a missing verdict, and events of other services.

use serde_json::{Value, json};
use tests::Events;

#[tokio::test]
async fn a_workflow_target_starts_the_run_that_it_names() {
    let events = Events::start().await;
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
    let body = json!({ "action": "Approval", "resource_type": "content_object", "resource_id": "doc-1" });
    let event = events.event(&channel, &body).await;
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
    assert_eq!(detail["input"]["event"]["details"]["payload"], body);
    let delivery_part = json!({ "id": delivery["id"], "subscription_id": subscription["id"], "attempt": 1 });
    assert_eq!(detail["input"]["delivery"], delivery_part);
    // Listings find the delivery by fields of the event and of the subscription.
    for filter in [
        json!({ "rule_id": subscription["id"] }),
        json!({ "event_name": "Approval" }),
        json!({ "document_id": "doc-1" }),
    ] {
        let list = events
            .post(&events.token, "/workflows/runs", &filter)
            .await
            .expect_status(200)
            .body;
        assert_eq!(list["runs"].as_array().unwrap().len(), 1, "{filter}: {list}");
    }
    events
        .post(
            &events.token,
            &format!("{run}/signal/Approve"),
            &json!({ "message": "yes" }),
        )
        .await
        .expect_status(200);
    events.delivery_of(&event, &["succeeded"]).await;
}

#[tokio::test]
async fn a_condition_without_an_answer_and_one_that_no_model_decides_are_told() {
    let events = Events::start().await;
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
                .contains("No language model is configured")
        );
    }
    let numbers: Vec<u32> = (0..2_000).collect();
    let costly = json!({ "none": [{ "var": "details.payload.n" }, { "some": [numbers[..900], { "==": [{ "var": "" }, "x"] }] }] });
    subscribe("/costly", json!({ "action": ["costly"], "condition": costly })).await;
    let event = events
        .event(&channel, &json!({ "action": "costly", "n": numbers }))
        .await;
    let delivery = events.delivery_of(&event, &["failed"]).await;
    assert_eq!(
        delivery["last_error"],
        "The condition takes more than 5000000 steps on this event."
    );
}

#[tokio::test]
async fn events_of_other_services_are_matched_and_invalid_ones_are_set_aside_with_the_reason() {
    let events = Events::start().await;
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
    // Test the match first, then publish the event.
    for (kind, why) in [
        ("invoice", Value::Null),
        (
            "letter",
            json!("condition is not true: resource_data.metadata.type is \"letter\""),
        ),
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
    let mut expected = envelope("invoice");
    expected["timestamp"] = json!("2026-01-02T03:04:05.000Z");
    expected["tenant_id"] = Value::Null;
    assert_eq!(received[0].json()["event"], expected);
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
