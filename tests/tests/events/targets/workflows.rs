//! Tests targets of subscriptions: the allowed workflow types, the id of the started run, and the errors of
//! invalid targets.

use serde_json::{Value, json};
use tests::{Events, Method};

const SUBSCRIPTIONS: &str = "/events/subscriptions";

fn workflow(target: Value) -> Value {
    let mut body = json!({
        "name": "Orders", "run_as_role": "executor", "filter": { "event_category": ["external"] },
        "target": { "type": "workflow", "endpoint": "Approval" },
    });
    let fields = target.as_object().unwrap().clone();
    body["target"].as_object_mut().unwrap().extend(fields);
    body
}

fn path_of(subscription: &Value) -> String {
    format!("{SUBSCRIPTIONS}/{}", subscription["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_workflow_type_that_does_not_exist_is_refused_with_those_that_do() {
    let events = Events::start().await;
    let refused = |endpoint: &str| {
        format!(
            "The field 'target.endpoint' names the workflow type '{endpoint}', which does not exist; there are "
        )
    };
    // Callers cannot start runs of the type that delivers.
    for endpoint in ["Nothing", "approval", "WebhookDelivery"] {
        let body = workflow(json!({ "endpoint": endpoint }));
        let refusal = events
            .post(&events.token, SUBSCRIPTIONS, &body)
            .await
            .expect_status(400);
        let message = refusal.body["message"].as_str().unwrap();
        assert!(message.starts_with(&refused(endpoint)), "{message}");
        let (_, types) = message.split_once("there are ").unwrap();
        let types: Vec<_> = types.trim_end_matches('.').split(", ").collect();
        assert!(
            types.contains(&"Approval") && types.contains(&"BatchAgentWorkflow"),
            "{message}"
        );
        assert!(!types.contains(&"WebhookDelivery"), "{message}");
    }
    let subscription = events.subscribe(&workflow(json!({}))).await;
    let path = path_of(&subscription);
    let other = json!({ "target": { "endpoint": "Nothing" } });
    let refusal = events.put(&events.token, &path, &other).await.expect_status(400);
    assert!(
        refusal.body["message"]
            .as_str()
            .unwrap()
            .starts_with(&refused("Nothing"))
    );
    let other = json!({ "target": { "endpoint": "Steps" } });
    events.put(&events.token, &path, &other).await.expect_status(200);

    let file = events.folder().join("subscription.json");
    std::fs::write(&file, workflow(json!({ "endpoint": "Nothing" })).to_string()).unwrap();
    let refusal = events
        .scope
        .ops(&["subscription", "create", "--file", &file.to_string_lossy()])
        .expect_refusal();
    assert!(refusal.stderr.contains(&refused("Nothing")), "{refusal:?}");
}

#[tokio::test]
async fn fields_of_a_target_that_are_no_templates_are_warned_of() {
    let events = Events::start().await;
    let mut webhook = events.webhook_body("/?x=$event.resource_id");
    webhook["target"]["signing_mode"] = json!("signed");
    webhook["target"]["headers"] = json!({ "x-request-id": "{{ event.event_id }}" });
    let run = workflow(json!({ "workflow_class": "{{x1}}", "workflow_id": "my-id" }));
    for (body, fields) in [
        (webhook, ["target.url", "target.headers.x-request-id"]),
        (run, ["target.workflow_class", "no event has a field 'my-id'"]),
    ] {
        let warnings = events.subscribe(&body).await["warnings"].clone();
        let warnings: Vec<_> = warnings.as_array().unwrap().iter().collect();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        for (warning, field) in warnings.iter().zip(fields) {
            assert!(warning.as_str().unwrap().contains(field), "{warnings:?}");
        }
    }
}

#[tokio::test]
async fn a_webhook_without_signatures_is_taken_with_a_warning() {
    let events = Events::start().await;
    let warning = json!([
        "The deliveries of this webhook are not signed, so its receiver cannot tell them from forged requests; set \
         'target.signing_mode' to 'signed'."
    ]);
    let mut body = events.webhook_body("/");
    let unsigned = events.subscribe(&body).await;
    assert_eq!(unsigned["warnings"], warning);
    let path = path_of(&unsigned);
    let record = events.get(&events.token, &path).await.expect_status(200).body;
    assert_eq!(record.get("warnings"), None);
    let renamed = events
        .put(&events.token, &path, &json!({ "name": "Other" }))
        .await;
    assert_eq!(renamed.expect_status(200).body["warnings"], warning);

    body["target"]["signing_mode"] = json!("legacy_unsigned");
    assert_eq!(events.subscribe(&body).await["warnings"], warning);
    body["target"]["signing_mode"] = json!("signed");
    assert_eq!(events.subscribe(&body).await.get("warnings"), None);
    let signed = json!({ "target": { "url": body["target"]["url"], "signing_mode": "signed" } });
    let signed = events
        .put(&events.token, &path, &signed)
        .await
        .expect_status(200)
        .body;
    assert_eq!(signed.get("warnings"), None);
    assert_eq!(events.subscribe(&workflow(json!({}))).await.get("warnings"), None);
}

#[tokio::test]
async fn runs_have_the_id_that_the_event_says_and_start_once_for_it() {
    let events = Events::start().await;
    for path in ["", ".", "a..b", "details.payload."] {
        let body = workflow(json!({ "workflow_id": path }));
        let refusal = events
            .post(&events.token, SUBSCRIPTIONS, &body)
            .await
            .expect_status(400);
        let message = refusal.body["message"].as_str().unwrap();
        assert!(
            message.contains("'target.workflow_id' is not a path"),
            "{message}"
        );
    }
    let target = json!({ "workflow_id": "details.payload.order_id" });
    let subscription = events.subscribe(&workflow(target)).await;
    assert_eq!(subscription["target"]["workflow_id"], "details.payload.order_id");
    let channel = events.plain_channel().await;
    let order = json!({ "order_id": "A-100" });
    let first = events.event(&channel, &order).await;
    let first = events.delivery_of(&first, &["running"]).await;
    assert_eq!(first["workflow_id"], "A-100");
    let again = events.event(&channel, &order).await;
    let again = events.delivery_of(&again, &["succeeded"]).await;
    assert_eq!(again["workflow_run_id"], first["workflow_run_id"]);
    let run = format!(
        "/workflows/runs/A-100/{}",
        first["workflow_run_id"].as_str().unwrap()
    );
    let detail = events.get(&events.token, &run).await.expect_status(200).body;
    assert_eq!(detail["input"]["event"]["event_id"], first["event_id"]);
    assert_eq!(detail["memo"]["delivery_id"], first["id"]);

    let without = events.event(&channel, &json!({ "order_id": null })).await;
    let without = events.delivery_of(&without, &["failed"]).await;
    assert_eq!(
        without["last_error"],
        "The path 'details.payload.order_id' of 'target.workflow_id' leads to a value that is neither a text nor an integer. A \
         workflow id is a text or an integer of 1 to 200 characters, without '#', '/' and control characters."
    );
    assert_eq!(without.get("workflow_id"), None);

    // An update accepts it as well, and null removes it.
    let target = json!({ "target": { "endpoint": "Approval", "workflow_id": null } });
    let changed = events.put(&events.token, &path_of(&subscription), &target).await;
    assert_eq!(changed.expect_status(200).body["target"].get("workflow_id"), None);
}

#[tokio::test]
async fn a_subscription_that_a_410_disabled_says_so_and_its_deliveries_can_be_made_again() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let subscription = events.webhook("/status/503").await;
    let path = path_of(&subscription);
    let to = |place: &str| json!({ "target": { "url": format!("{}{place}", events.receiver.origin) } });
    let waiting = events.event(&channel, &json!({})).await;
    let id = events.delivery_of(&waiting, &["retrying"]).await["id"].clone();
    events
        .put(&events.token, &path, &to("/status/410"))
        .await
        .expect_status(200);
    let gone = events.event(&channel, &json!({})).await;
    let gone_id = events.delivery_of(&gone, &["failed"]).await["id"].clone();

    let disabled = events.get(&events.token, &path).await.expect_status(200).body;
    let reason = format!(
        "The receiver answered the delivery '{}' with the status 410.",
        gone_id.as_str().unwrap()
    );
    assert_eq!(
        (&disabled["enabled"], &disabled["disabled_reason"]),
        (&json!(false), &json!(reason))
    );
    assert_eq!(disabled["disabled_at"], disabled["updated_at"]);
    // A change that keeps it disabled keeps the reason.
    let moved = events
        .put(&events.token, &path, &to("/back"))
        .await
        .expect_status(200)
        .body;
    assert_eq!(moved["disabled_reason"], reason);

    let cancelled = events.delivery_of(&waiting, &["cancelled"]).await;
    let why = format!(
        "The subscription is disabled since {}. {reason}",
        disabled["disabled_at"].as_str().unwrap()
    );
    assert_eq!(cancelled["last_error"], why.as_str());
    let refusal = events
        .scope
        .ops(&["delivery", "retry", id.as_str().unwrap()])
        .expect_refusal();
    assert!(
        refusal
            .stderr
            .contains("Enable it first, then retry the delivery."),
        "{refusal:?}"
    );

    let enabled = events
        .put(&events.token, &path, &json!({ "enabled": true }))
        .await;
    let enabled = enabled.expect_status(200).body;
    assert_eq!(
        (enabled.get("disabled_reason"), enabled.get("disabled_at")),
        (None, None)
    );
    events
        .scope
        .ops(&["delivery", "redrive", "--status", "running"])
        .expect_refusal();
    let subscription = subscription["id"].as_str().unwrap();
    let redriven = events.scope.ops_json(&[
        "delivery",
        "redrive",
        "--subscription",
        subscription,
        "--status",
        "failed,cancelled",
    ]);
    let redriven = redriven["redriven"].as_array().unwrap();
    assert!(redriven.len() == 2 && redriven.contains(&id) && redriven.contains(&gone_id));
    for event in [&waiting, &gone] {
        let delivery = events.delivery_of(event, &["succeeded"]).await;
        assert_eq!(
            (&delivery["attempt_count"], delivery.get("last_error")),
            (&json!(2), None)
        );
    }
    assert_eq!(events.received("/back", 2).await.len(), 2);
    // A subscription that a caller disables has no reason.
    let disabled = events
        .put(&events.token, &path, &json!({ "enabled": false }))
        .await;
    assert_eq!(disabled.expect_status(200).body.get("disabled_reason"), None);
}

#[tokio::test]
async fn the_event_of_a_run_that_failed_says_why() {
    let events = Events::start().await;
    let mut body = events.webhook_body("/runs");
    body["filter"] = json!({ "event_category": ["workflow"] });
    events.subscribe(&body).await;
    let started = events.scope.ops_json(&[
        "run",
        "start",
        "Steps",
        "--id",
        "broken",
        "--input",
        r#"{"steps":"many"}"#,
    ]);
    let run = format!("/workflows/runs/broken/{}", started["run_id"].as_str().unwrap());
    let received = events.received("/runs", 2).await;
    let mut run_events: Vec<_> = received
        .iter()
        .map(|received| received.json()["event"].clone())
        .collect();
    run_events.sort_by_key(|event| event["action"].as_str().unwrap().to_owned());
    let [failed, began] = run_events.as_slice() else {
        panic!("{run_events:?}")
    };
    assert_eq!(
        (&failed["action"], &began["action"]),
        (&json!("workflow_failed"), &json!("workflow_started"))
    );
    let detail = events.get(&events.token, &run).await.expect_status(200).body;
    assert!(detail["error"]["message"].is_string(), "{detail}");
    assert_eq!(failed["details"]["error"], detail["error"]);
    assert_eq!(began["details"].get("error"), None);
}

#[tokio::test]
async fn a_run_shows_all_digits_of_what_it_was_given() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let copy = json!({
        "document": { "dsl": "1.0.0", "namespace": "x", "name": "copy", "version": "1.0.0" },
        "do": [{ "copy": { "set": { "n": "${ .event.details.payload.n }" } } }],
    });
    let body = json!({
        "name": "Numbers", "run_as_role": "executor", "filter": { "event_category": ["external"] },
        "target": { "type": "process", "definition": copy },
    });
    events.subscribe(&body).await;
    let number = "12345678901234567.89";
    let request = events.request(Method::POST, &channel.url).token(channel.token());
    let body = format!("{{\"n\":{number}}}");
    let answer = request.body(body).await.expect_status(202).body;
    let delivery = events
        .delivery_of(answer["event_id"].as_str().unwrap(), &["succeeded"])
        .await;
    let part = |name: &str| delivery[name].as_str().unwrap().to_owned();
    let path = format!(
        "/workflows/runs/{}/{}",
        part("workflow_id"),
        part("workflow_run_id")
    );
    for format in ["events", "tasks"] {
        let path = format!("{path}?include_history=true&history_format={format}");
        let run = events.get(&events.token, &path).await.expect_status(200);
        let text = run.text();
        assert!(text.contains(&format!("\"n\":{number}")), "{text}");
        assert!(!text.contains("1.23456789"), "{text}");
    }
}
