//! Tests targets for agents and processes: refusals with their messages, and the runs' input, template by
//! template.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::Events;
use tests::runs::WITHIN;

const SUBSCRIPTIONS: &str = "/events/subscriptions";
/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(50);

fn definition() -> Value {
    json!({
        "document": { "dsl": "1.0.0", "namespace": "shop", "name": "ship", "version": "1.0.0" },
        "do": [{ "note": { "set": { "big": "${ .order.big }", "id": "${ .event.event_id }", "delivery": "${ .delivery.id }" } } }],
    })
}

fn subscription(target: &Value) -> Value {
    json!({
        "name": "Orders", "run_as_role": "executor", "filter": { "event_category": ["external"] }, "target": target,
    })
}

/// True if the installation has the workflow type.
async fn has_type(events: &Events, name: &str) -> bool {
    let types = events
        .get(&events.token, "/workflows/types")
        .await
        .expect_status(200);
    types.text().contains(&format!("\"{name}\""))
}

async fn refused(events: &Events, target: &Value) -> Value {
    let answer = events
        .post(&events.token, SUBSCRIPTIONS, &subscription(target))
        .await
        .expect_status(400);
    answer.body
}

#[tokio::test]
async fn invalid_target_is_refused_with_a_sentence() {
    let events = Events::start().await;
    let huge = |bytes: usize| json!({ "text": "x".repeat(bytes) });
    let agent = |field: &str, value: Value| json!({ "type": "agent", field: value });
    let process =
        |field: &str, value: Value| json!({ "type": "process", "process_ref": "shop/ship", field: value });
    let no_template = |text: &str| {
        format!(
            "The field 'target.data.a' has '{text}', which is no template; there are $event, $event.<path>, {{{{ event.<path> }}}}, \
             $event_ref and $delivery.id, where a path is as in details.payload.id."
        )
    };
    let no_reference = "The field 'target.process_ref' names no process; write namespace/name for the highest version, or \
                        namespace/name@version.";
    let cases = [
        (agent("max_iterations", json!(0)), "The field 'target.max_iterations' must be from 1 to 100.".to_owned()),
        (agent("max_iterations", json!(101)), "The field 'target.max_iterations' must be from 1 to 100.".to_owned()),
        (agent("max_iterations", json!(-1)), "$.target.max_iterations: invalid value".to_owned()),
        (agent("max_iterations", json!("5")), "$.target.max_iterations: invalid type".to_owned()),
        (agent("interaction_ref", json!("")), "The field 'target.interaction_ref' must not be empty.".to_owned()),
        (agent("data", json!([1])), "$.target.data: invalid type".to_owned()),
        (agent("data", huge(70_000)), "The field 'target.data' has at most 65536 bytes.".to_owned()),
        (agent("data", json!({ "a": "$event." })), no_template("$event.")),
        (agent("data", json!({ "a": "$event_ref.event_id" })), no_template("$event_ref.event_id")),
        (agent("data", json!({ "a": "$delivery.attempt" })), no_template("$delivery.attempt")),
        (agent("data", json!({ "a": "x {{ event.a..b }}" })), no_template("x {{ event.a..b }}")),
        (agent("url", json!("x")), "$.target.url: unknown field `url`".to_owned()),
        (
            process("definition", definition()),
            "The target has both 'target.process_ref' and 'target.definition'; remove one.".to_owned(),
        ),
        (
            json!({ "type": "process" }),
            "The target names no process; set 'target.process_ref' or 'target.definition'.".to_owned(),
        ),
        (process("process_ref", json!("ship")), no_reference.to_owned()),
        (process("process_ref", json!("shop/ship@latest")), no_reference.to_owned()),
        (process("process_ref", json!("shop/sh#ip")), no_reference.to_owned()),
        (process("run_type", json!("manual")), "$.target.run_type: unknown variant `manual`".to_owned()),
        (process("data", huge(70_000)), "The field 'target.data' has at most 65536 bytes.".to_owned()),
        (process("vars", json!({})), "$.target.vars: unknown field `vars`".to_owned()),
        (json!({ "type": "process", "definition": "do: []" }), "$.target.definition: invalid type".to_owned()),
        (
            json!({ "type": "process", "definition": huge(200_000) }),
            "The field 'target.definition' has 200011 bytes, and at most 65536 are taken; store the process with 'ops process load' \
             and name it in 'target.process_ref'."
                .to_owned(),
        ),
    ];
    for (target, message) in cases {
        let body = refused(&events, &target).await;
        let text = body["message"].as_str().unwrap();
        assert!(text.contains(&message), "{text}\nis not\n{message}");
    }
    let target = json!({ "type": "process", "definition": huge(1_000_000) });
    let answer = events.post(&events.token, SUBSCRIPTIONS, &subscription(&target));
    answer.await.expect_status(413);
}

#[tokio::test]
async fn target_whose_workflow_type_is_not_installed_is_refused() {
    let events = Events::start().await;
    for (kind, workflow_type, target) in [
        ("agent", "AgentConversation", json!({ "type": "agent" })),
        (
            "process",
            "Process",
            json!({ "type": "process", "definition": definition() }),
        ),
    ] {
        if has_type(&events, workflow_type).await {
            let endpoint = json!({ "type": "workflow", "endpoint": workflow_type });
            let body = refused(&events, &endpoint).await;
            let message = body["message"].as_str().unwrap();
            assert!(
                message.contains("which targets of another type start"),
                "{message}"
            );
            continue;
        }
        let body = refused(&events, &target).await;
        let message = body["message"].as_str().unwrap();
        assert!(
            message.starts_with("This installation delivers to targets of the types webhook and workflow"),
            "{message}"
        );
        assert!(message.ends_with(&format!("and not to '{kind}'.")), "{message}");
    }
}

#[tokio::test]
async fn a_definition_with_faults_is_refused_with_all_of_them() {
    let events = Events::start().await;
    if !has_type(&events, "Process").await {
        return;
    }
    let mut faulty = definition();
    faulty["document"]["version"] = json!("one");
    faulty["do"] = json!([{ "a": { "sett": {} } }, { "b": { "wait": {} } }]);
    let target = json!({ "type": "process", "definition": faulty });
    let body = refused(&events, &target).await;
    let faults = body["faults"].as_array().unwrap();
    let pointers: Vec<&str> = faults
        .iter()
        .map(|fault| fault["pointer"].as_str().unwrap())
        .collect();
    assert!(pointers.contains(&"/document/version"), "{pointers:?}");
    assert!(
        pointers.iter().any(|pointer| pointer.starts_with("/do/0/a")),
        "{pointers:?}"
    );
    assert!(
        pointers.iter().any(|pointer| pointer.starts_with("/do/1/b")),
        "{pointers:?}"
    );
    let count = faults.len();
    let first = format!(
        "The field 'target.definition' has {count} faults; the first: {}: {}",
        pointers[0],
        faults[0]["message"].as_str().unwrap()
    );
    assert_eq!(body["message"], json!(first));

    let unknown = json!({ "type": "process", "process_ref": "shop/none" });
    assert_eq!(
        refused(&events, &unknown).await["message"],
        "The field 'target.process_ref' names the process 'shop/none', which does not exist; the project has none."
    );
    let file = events.folder().join("ship.json");
    std::fs::write(&file, definition().to_string()).unwrap();
    events
        .scope
        .ops(&["process", "load", &file.to_string_lossy()])
        .expect_success();
    assert_eq!(
        refused(&events, &unknown).await["message"],
        "The field 'target.process_ref' names the process 'shop/none', which does not exist; there are shop/ship@1.0.0."
    );
    // An existing process is accepted, and shown as it was sent.
    let target = json!({ "type": "process", "process_ref": "shop/ship@1.0.0" });
    let subscription_record = events.subscribe(&subscription(&target)).await;
    assert_eq!(
        subscription_record["target"],
        json!({ "type": "process", "process_ref": "shop/ship@1.0.0", "run_type": "programmatic" })
    );
    let path = format!("{SUBSCRIPTIONS}/{}", subscription_record["id"].as_str().unwrap());
    let changed = json!({ "target": { "definition": definition(), "data": { "a": "$event_ref" } } });
    let changed = events
        .put(&events.token, &path, &changed)
        .await
        .expect_status(200)
        .body;
    assert_eq!(changed["target"]["definition"], definition());
    assert_eq!(changed["target"].get("process_ref"), None);
    let back = json!({ "target": changed["target"] });
    events.put(&events.token, &path, &back).await.expect_status(200);
}

#[tokio::test]
async fn every_form_of_template_is_filled() {
    let events = Events::start().await;
    let data = json!({
        "typed": "$event.details.payload.total", "whole": "{{ event.details.payload.items }}",
        "inline": "Order {{ event.details.payload.id }}: {{event.details.payload.items}}", "event": "$event",
        "reference": "$event_ref", "delivery_id": "$delivery.id", "plain": [1, { "a": null }], "order": { "big": 7 },
    });
    let payload = json!({ "id": "A-1", "total": 12.5, "items": [{ "sku": "x", "count": 2 }] });
    let channel = events.plain_channel().await;
    for (workflow_type, target, place) in [
        (
            "AgentConversation",
            json!({ "type": "agent", "data": data, "max_iterations": 1 }),
            "/data",
        ),
        (
            "Process",
            json!({ "type": "process", "definition": definition(), "data": data }),
            "",
        ),
    ] {
        if !has_type(&events, workflow_type).await {
            continue;
        }
        let subscribed = events.subscribe(&subscription(&target)).await;
        let event = events.event(&channel, &payload).await;
        let delivery = events
            .delivery_of(&event, &["running", "succeeded", "failed"])
            .await;
        assert_eq!(delivery["target_type"], target["type"]);
        let run = format!(
            "/workflows/runs/{}/{}",
            delivery["workflow_id"].as_str().unwrap(),
            delivery["workflow_run_id"].as_str().unwrap()
        );
        let detail = events.get(&events.token, &run).await.expect_status(200).body;
        assert_eq!(detail["type"], workflow_type);
        let filled = detail["input"].pointer(place).unwrap();
        let reference = json!({
            "event_id": event, "event_category": "external", "action": filled["event"]["action"],
            "resource_type": filled["event"]["resource_type"], "resource_id": filled["event"]["resource_id"],
        });
        assert_eq!(filled["typed"], 12.5);
        assert_eq!(filled["whole"], payload["items"]);
        assert_eq!(filled["inline"], r#"Order A-1: [{"count":2,"sku":"x"}]"#);
        assert_eq!(filled["event"]["event_id"], json!(event));
        assert_eq!(filled["event"]["details"]["payload"], payload);
        assert_eq!(filled["reference"], reference);
        assert_eq!(filled["delivery_id"], delivery["id"]);
        assert_eq!(filled["plain"], json!([1, { "a": null }]));
        assert_eq!(detail["memo"]["subscription_id"], subscribed["id"]);
        if workflow_type == "AgentConversation" {
            assert_eq!(detail["input"]["source_type"], "event_subscription");
            assert_eq!(detail["input"]["event_ref"], reference);
            assert_eq!(detail["input"]["subscription_id"], subscribed["id"]);
            assert_eq!(detail["memo"]["event_ref"], reference);
        } else {
            let ended = events.delivery_of(&event, &["succeeded"]).await;
            let detail = events.get(&events.token, &run).await.expect_status(200).body;
            assert_eq!(
                detail["result"],
                json!({ "big": 7, "id": event, "delivery": ended["id"] })
            );
        }
        let path = format!("{SUBSCRIPTIONS}/{}", subscribed["id"].as_str().unwrap());
        events.delete(&events.token, &path).await.expect_status(200);

        let missing = json!({ "a": ["$event.nope"] });
        let mut target = target.clone();
        target["data"] = missing;
        let subscribed = events.subscribe(&subscription(&target)).await;
        let event = events.event(&channel, &payload).await;
        let failed = events.delivery_of(&event, &["failed"]).await;
        assert_eq!(
            failed["last_error"],
            "The field 'target.data' cannot be filled: the template names 'event.nope', which the event does not have."
        );
        assert_eq!(failed.get("workflow_run_id"), None);
        assert_eq!(failed.get("next_attempt_at"), None);
        let path = format!("{SUBSCRIPTIONS}/{}", subscribed["id"].as_str().unwrap());
        events.delete(&events.token, &path).await.expect_status(200);
    }
}

#[tokio::test]
async fn a_process_that_listens_is_told_of_the_event_that_it_waits_for() {
    let events = Events::start().await;
    if !has_type(&events, "Process").await {
        return;
    }
    let definition = json!({
        "document": { "dsl": "1.0.0", "namespace": "shop", "name": "paid", "version": "1.0.0" },
        "do": [{ "paid": { "listen": { "to": { "one": { "with": { "type": "external.order_paid" } } } } } }],
    });
    let mut body = subscription(&json!({ "type": "process", "definition": definition }));
    body["filter"]["action"] = json!(["order_placed"]);
    events.subscribe(&body).await;
    let channel = events.plain_channel().await;
    let placed = events.event(&channel, &json!({ "action": "order_placed" })).await;
    let delivery = events.delivery_of(&placed, &["running"]).await;
    let run = format!(
        "/workflows/runs/{}/{}",
        delivery["workflow_id"].as_str().unwrap(),
        delivery["workflow_run_id"].as_str().unwrap()
    );
    let state = format!("{run}/query/__state");
    let deadline = Instant::now() + WITHIN;
    loop {
        let answer = events.get(&events.token, &state).await.expect_status(200);
        if answer.text().contains("\"waits_for\":\"Event\"") {
            break;
        }
        assert!(Instant::now() < deadline, "{}", answer.text());
        tokio::time::sleep(PAUSE).await;
    }
    events.event(&channel, &json!({ "action": "order_sent" })).await;
    let paid = json!({ "action": "order_paid", "amount": 12.5 });
    let heard = events.event(&channel, &paid).await;
    events.delivery_of(&placed, &["succeeded"]).await;
    let detail = events.get(&events.token, &run).await.expect_status(200).body;
    assert_eq!(detail["result"][0]["event_id"], json!(heard));
    assert_eq!(detail["result"][0]["details"]["payload"], paid);
    let history = events
        .get(&events.token, &format!("{run}?include_history=true"))
        .await
        .expect_status(200);
    // The run did not get the event that does not match.
    assert!(!history.text().contains("order_sent"), "{}", history.text());
}
