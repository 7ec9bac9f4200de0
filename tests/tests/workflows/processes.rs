//! Tests processes from end to end: an event starts a process, which calls a service, publishes events, and
//! waits for other events and for approvals.

use serde_json::{Value, json};
use tests::Events;
use tests::runs::{PAUSE, WITHIN};

const SUBSCRIPTIONS: &str = "/events/subscriptions";

fn definition(name: &str, parts: Value) -> Value {
    let mut definition =
        json!({ "document": { "dsl": "1.0.3", "namespace": "shop", "name": name, "version": "1.0.0" } });
    for (field, value) in parts.as_object().unwrap() {
        definition[field] = value.clone();
    }
    definition
}

/// Starts a process by an event. Returns the path of its run.
async fn started(events: &Events, target: Value, payload: &Value) -> String {
    let channel = events.plain_channel().await;
    let mut target = target;
    target["type"] = json!("process");
    let subscription = json!({
        "name": "Orders", "run_as_role": "executor",
        "filter": { "event_category": ["external"] },
        "target": target,
    });
    let subscribed = events.subscribe(&subscription).await;
    let event = events.event(&channel, payload).await;
    let delivery = events
        .delivery_of(&event, &["running", "succeeded", "failed"])
        .await;
    let path = format!("{SUBSCRIPTIONS}/{}", subscribed["id"].as_str().unwrap());
    events.delete(&events.token, &path).await.expect_status(200);
    format!(
        "/workflows/runs/{}/{}",
        delivery["workflow_id"].as_str().unwrap(),
        delivery["workflow_run_id"].as_str().unwrap()
    )
}

/// Waits until the run satisfies the condition. Returns the run.
async fn once(events: &Events, run: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = std::time::Instant::now();
    loop {
        let detail = events.get(&events.token, run).await.expect_status(200).body;
        if is_so(&detail) {
            return detail;
        }
        assert!(began.elapsed() < WITHIN, "{detail}");
        tokio::time::sleep(PAUSE).await;
    }
}

async fn ended(events: &Events, run: &str) -> Value {
    once(events, run, |detail| detail["status"] != "RUNNING").await
}

#[tokio::test]
async fn an_event_starts_a_process_that_calls_a_service_with_a_secret() {
    let events = Events::start().await;
    let file = |name: &str, text: &str| {
        let file = events.folder().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_string_lossy().into_owned()
    };
    let host = events.receiver.origin.trim_start_matches("http://");
    let set = [
        "secret",
        "set",
        "key",
        "--text",
        "--value-file",
        &file("key", "hush-hush"),
    ];
    let binding = ["--for", "shop/order", "--host", host];
    events.scope.ops(&[&set[..], &binding].concat()).expect_success();
    let url = events.webhook_body("/process")["target"]["url"].clone();
    let call = json!({
        "method": "post", "endpoint": { "uri": url, "authentication": { "bearer": { "use": "key" } } },
        "body": { "order": "${ .event.details.payload.id }", "gift": "${ .gift }" }, "output": "response",
    });
    let tasks = json!([
        { "decide": { "switch": [{ "large": { "when": ".event.details.payload.total > 10", "then": "order" } }, { "small": { "then": "end" } }] } },
        { "order": { "call": "http", "with": call, "output": { "as": "{ status: .statusCode }" } } },
        { "done": { "set": { "status": "${ .status }", "who": "${ $context.delivery.id }" } } },
    ]);
    let definition = definition("order", json!({ "use": { "secrets": ["key"] }, "do": tasks }));
    let load = ["process", "load", &file("order.json", &definition.to_string())];
    events.scope.ops(&load).expect_success();
    let target = json!({ "process_ref": "shop/order", "data": { "gift": true } });
    let run = started(&events, target, &json!({ "id": "A-1", "total": 12 })).await;
    let detail = ended(&events, &run).await;
    assert_eq!(detail["status"], "COMPLETED", "{detail}");
    assert_eq!(detail["result"]["status"], 200);
    assert_eq!(detail["result"]["who"], detail["input"]["delivery"]["id"]);
    let got = events.received("/process", 1).await.remove(0);
    assert_eq!(got.header("authorization"), "Bearer hush-hush");
    assert_eq!(got.json(), json!({ "order": "A-1", "gift": true }));
    let whole = events
        .get(&events.token, &format!("{run}?include_history=true"))
        .await;
    assert!(!whole.text().contains("hush-hush"));
}

#[tokio::test]
async fn a_fault_ends_the_run_with_the_error_object() {
    let events = Events::start().await;
    let definition = definition(
        "faulty",
        json!({ "do": [{ "a": { "set": { "n": "${ .event | error }" } } }] }),
    );
    let run = started(&events, json!({ "definition": definition }), &json!({})).await;
    let detail = ended(&events, &run).await;
    assert_eq!(detail["status"], "FAILED", "{detail}");
    let kind = "https://serverlessworkflow.io/spec/1.0.0/errors/expression";
    assert_eq!(detail["error"]["type"], kind);
    assert_eq!(detail["error"]["details"]["instance"], "/do/0/a");
    assert_eq!(detail["error"]["details"]["status"], 400);
}

#[tokio::test]
async fn an_endless_expression_fails_its_task() {
    let events = Events::start().await;
    let definition = definition(
        "endless",
        json!({ "do": [{ "a": { "set": { "n": "${ def f: f; f }" } } }] }),
    );
    let run = started(&events, json!({ "definition": definition }), &json!({})).await;
    let detail = ended(&events, &run).await;
    assert_eq!(detail["status"], "FAILED", "{detail}");
    assert!(
        detail["error"]["message"]
            .as_str()
            .unwrap()
            .contains("1 s of processor time"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_process_hears_what_another_tells() {
    let events = Events::start().await;
    let wait = json!({ "listen": { "to": { "one": { "with": { "type": "com.shop.paid", "data": "${ .order == \"A-1\" }" } } } } });
    let listening = definition("listening", json!({ "do": [{ "wait": wait }] }));
    let listener = started(&events, json!({ "definition": listening }), &json!({})).await;
    let hears = |detail: &Value| detail["pendingActivities"].as_array().is_none_or(Vec::is_empty);
    let state = format!("{listener}/query/__state");
    loop {
        let answer = events.get(&events.token, &state).await.expect_status(200).body;
        if answer["tasks"][0]["waits_for"] == "Event" {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    once(&events, &listener, hears).await;
    let event = json!({ "source": "https://shop.example", "type": "com.shop.paid", "data": { "order": "${ .order }" } });
    let emitting = definition(
        "emitting",
        json!({ "do": [{ "tell": { "emit": { "event": { "with": event } } } }] }),
    );
    for order in ["B-2", "A-1"] {
        let target = json!({ "definition": emitting, "data": { "order": order } });
        let emitter = started(&events, target, &json!({})).await;
        assert_eq!(ended(&events, &emitter).await["status"], "COMPLETED");
    }
    let heard = ended(&events, &listener).await;
    assert_eq!(heard["result"], json!([{ "order": "A-1" }]), "{heard}");
}

#[tokio::test]
async fn a_supervised_process_waits_for_approvals() {
    let events = Events::start().await;
    let url = events.webhook_body("/supervised")["target"]["url"].clone();
    let call = json!({ "call": "http", "with": { "method": "post", "endpoint": url } });
    let definition = definition("supervised", json!({ "do": [{ "a": call }, { "b": call }] }));
    let target = json!({ "definition": definition, "run_type": "supervised" });
    let run = started(&events, target, &json!({})).await;
    let waits = async |task: &str| {
        let began = std::time::Instant::now();
        loop {
            let state = events.get(&events.token, &format!("{run}/query/__state")).await;
            let state = state.expect_status(200).body;
            if state["tasks"] == json!([{ "task": task, "waits_for": "Approve" }]) {
                return;
            }
            assert!(began.elapsed() < WITHIN, "{state}");
            tokio::time::sleep(PAUSE).await;
        }
    };
    let signal = format!("{run}/signal/Approve");
    waits("/do/0/a").await;
    assert!(events.receiver.received_at("/supervised").is_empty());
    let approval = json!({ "message": "Fine." });
    events
        .post(&events.token, &signal, &approval)
        .await
        .expect_status(200);
    waits("/do/1/b").await;
    assert_eq!(events.receiver.received_at("/supervised").len(), 1);
    let refusal = json!({ "message": "No.", "approved": false, "reason": "Enough." });
    events
        .post(&events.token, &signal, &refusal)
        .await
        .expect_status(200);
    let detail = ended(&events, &run).await;
    assert_eq!(detail["error"]["details"]["status"], 403, "{detail}");
    assert_eq!(events.receiver.received_at("/supervised").len(), 1);
}

#[tokio::test]
async fn a_process_survives_the_death_of_the_service_at_each_kind_of_wait_locally() {
    let mut events = Events::start_local().await;
    let url = |path: &str| events.webhook_body(path)["target"]["url"].clone();
    let call = |path: &str| json!({ "call": "http", "with": { "method": "post", "endpoint": url(path), "body": { "n": "${ .n }" } } });
    let tasks = json!([
        { "count": { "set": { "n": 1 } } },
        { "first": call("/first") },
        { "next": { "set": { "n": 2 } } },
        { "pause": { "wait": "PT2S" } },
        { "paid": { "listen": { "to": { "one": { "with": { "type": "paid" } } } } } },
        { "more": { "set": { "n": "${ .[0].cents }" } } },
        { "second": call("/second") },
        { "done": { "set": { "result": "done" } } },
    ]);
    let target = json!({ "definition": definition("survivor", json!({ "do": tasks })) });
    let run = started(&events, target, &json!({})).await;
    events.received("/first", 1).await;
    events.service.restart();
    once(&events, &run, |detail| detail["status"] == "RUNNING").await;
    let state = format!("{run}/query/__state");
    once(&events, &state, |state| state["tasks"][0]["waits_for"] == "Event").await;
    events.service.restart();
    let paid = json!({ "message": "", "type": "paid", "source": "shop", "id": "p1", "data": { "cents": 7 } });
    let signalled = events
        .post(&events.token, &format!("{run}/signal/Event"), &paid)
        .await;
    signalled.expect_status(200);
    events.service.restart();
    let detail = ended(&events, &run).await;
    assert_eq!(detail["status"], "COMPLETED", "{detail}");
    assert_eq!(detail["result"], json!({ "result": "done" }));
    assert_eq!(
        events.received("/second", 1).await.remove(0).json(),
        json!({ "n": 7 })
    );
    events.scope.ops(&["check"]).expect_success();
}
