//! Tests that no caller lends runs a role with more permissions than the caller has.

use serde_json::{Value, json};
use tests::{Events, Scope};

const SUBSCRIPTIONS: &str = "/events/subscriptions";

fn token(scope: &Scope, roles: &str, permissions: &str) -> String {
    scope.token_with(&["--roles", roles, "--permissions", permissions])
}

fn body(role: &str, target: &Value) -> Value {
    json!({
        "name": "Lent", "run_as_role": role, "filter": { "event_category": ["external"], "action": ["lent"] },
        "target": target,
    })
}

fn targets() -> [Value; 4] {
    let definition = json!({
        "document": { "dsl": "1.0.3", "namespace": "n", "name": "p", "version": "1.0.0" },
        "do": [{ "a": { "set": { "b": 1 } } }],
    });
    [
        json!({ "type": "webhook", "url": "https://example.com/" }),
        json!({ "type": "workflow", "endpoint": "BatchAgentWorkflow" }),
        json!({ "type": "agent" }),
        json!({ "type": "process", "definition": definition }),
    ]
}

#[tokio::test]
async fn role_beyond_the_caller_is_refused_with_what_is_missing() {
    let events = Events::start().await;
    for (roles, permissions, role, missing) in [
        ("", "workflow:admin", "reader", "interaction:read"),
        ("", "workflow:admin", "executor", "workflow:run"),
        ("", "workflow:admin", "automation", "content:write"),
        ("reader", "workflow:admin", "executor", "workflow:run"),
        ("reader", "workflow:admin", "automation", "interaction:write"),
        ("executor", "workflow:admin", "automation", "content:write"),
        (
            "executor",
            "workflow:admin,content:write",
            "automation",
            "interaction:write",
        ),
        (
            "",
            "workflow:admin,project:admin,account:admin",
            "reader",
            "content:read",
        ),
    ] {
        let token = token(&events.scope, roles, permissions);
        for target in targets() {
            let refused = events.post(&token, SUBSCRIPTIONS, &body(role, &target)).await;
            let refused = refused.expect_error(403, "forbidden");
            assert!(
                refused.message().contains(missing),
                "{roles} {permissions}: {}",
                refused.message()
            );
        }
    }
    let all = events.get(&events.token, SUBSCRIPTIONS).await.expect_status(200);
    assert_eq!(all.each("id"), Vec::<Value>::new());
    for (roles, permissions, role) in [
        ("developer", "", "automation"),
        ("automation", "workflow:admin", "automation"),
        ("reader", "workflow:admin", "reader"),
        (
            "",
            "workflow:admin,workflow:read,workflow:run,content:read,interaction:read",
            "executor",
        ),
    ] {
        let token = token(&events.scope, roles, permissions);
        for target in targets() {
            let created = events.post(&token, SUBSCRIPTIONS, &body(role, &target)).await;
            created.expect_status(201);
        }
    }
}

#[tokio::test]
async fn subscription_with_a_role_beyond_the_caller_is_not_changed() {
    let events = Events::start().await;
    let [webhook, workflow, ..] = targets();
    let signed = json!({ "type": "webhook", "url": "https://example.com/", "signing_mode": "signed" });
    let weak = token(&events.scope, "executor", "workflow:admin");
    let strong = events.subscribe(&body("automation", &signed)).await;
    let path = format!("{SUBSCRIPTIONS}/{}", strong["id"].as_str().unwrap());
    for change in [
        json!({ "target": { "type": "webhook", "url": "https://example.com/other" } }),
        json!({ "target": workflow }),
        json!({ "target": { "rotate_signing_secret": true } }),
        json!({ "filter": {} }),
        json!({ "enabled": false }),
        json!({ "run_as_role": "reader" }),
        json!({ "run_as_role": "reader", "target": workflow }),
        json!({ "name": "Mine", "enabled": false }),
    ] {
        let refused = events
            .put(&weak, &path, &change)
            .await
            .expect_error(403, "forbidden");
        assert!(
            refused.message().contains("content:write"),
            "{change}: {}",
            refused.message()
        );
    }
    let before = events.get(&events.token, &path).await.expect_status(200);
    assert_eq!(before.header("etag"), "\"1\"");
    // What is sent back unchanged is no change, and a name lends nothing.
    let mut whole = before.body.clone();
    whole["name"] = json!("Renamed");
    events.put(&weak, &path, &whole).await.expect_status(200);

    let own = events
        .post(&weak, SUBSCRIPTIONS, &body("executor", &webhook))
        .await;
    let own = format!("{SUBSCRIPTIONS}/{}", own.expect_status(201).id());
    let refused = events
        .put(&weak, &own, &json!({ "run_as_role": "automation" }))
        .await;
    refused.expect_error(403, "forbidden");
    for change in [
        json!({ "enabled": false }),
        json!({ "target": workflow }),
        json!({ "run_as_role": "reader" }),
    ] {
        events.put(&weak, &own, &change).await.expect_status(200);
    }
}

#[tokio::test]
async fn deliveries_of_a_role_beyond_the_caller_are_not_made_again() {
    let events = Events::start().await;
    let weak = token(&events.scope, "executor", "workflow:admin");
    let approval = json!({ "type": "workflow", "endpoint": "Approval" });
    let strong = events.subscribe(&body("automation", &approval)).await;
    let subscription = strong["id"].as_str().unwrap();
    let send = format!("{SUBSCRIPTIONS}/{subscription}/send");
    let test = events
        .post(&events.token, &send, &json!({}))
        .await
        .expect_status(202)
        .body;
    events
        .delivery_of(test["event_id"].as_str().unwrap(), &["running"])
        .await;
    let delivery = format!("/events/deliveries/{}", test["delivery_id"].as_str().unwrap());
    let range = json!({ "from": "2020-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z" });
    let mut of_one = range.clone();
    of_one["subscription_id"] = json!(subscription);
    for (path, body) in [
        (send.as_str(), json!({})),
        (&format!("{delivery}/retry"), json!({})),
        (&format!("{delivery}/cancel"), json!({})),
        ("/events/deliveries/redrive", json!({ "filter": of_one })),
        ("/events/deliveries/redrive", json!({ "filter": range })),
    ] {
        let refused = events
            .post(&weak, path, &body)
            .await
            .expect_error(403, "forbidden");
        assert!(
            refused.message().contains("content:write"),
            "{path}: {}",
            refused.message()
        );
    }
    let seen = events.get(&weak, &delivery).await.expect_status(200).body;
    assert_eq!(seen["status"], "running");
    assert!(seen["run"]["data"].is_object());
    let reader = token(&events.scope, "reader", "");
    let seen = events.get(&reader, &delivery).await.expect_status(200).body;
    assert!(seen["run"].get("data").is_none(), "{seen}");
}

/// Whether a schema has the field, in itself or in one that it refers to.
fn has_field(document: &Value, schema: &Value, field: &str, depth: u32) -> bool {
    if depth == 0 {
        return false;
    }
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, value)| match (name.as_str(), value) {
            ("$ref", Value::String(reference)) => {
                let target = document.pointer(reference.trim_start_matches('#'));
                target.is_some_and(|target| has_field(document, target, field, depth - 1))
            }
            ("properties", Value::Object(properties)) if properties.contains_key(field) => true,
            (_, value) => has_field(document, value, field, depth - 1),
        }),
        Value::Array(items) => items
            .iter()
            .any(|item| has_field(document, item, field, depth - 1)),
        _ => false,
    }
}

#[test]
fn operation_that_takes_a_role_is_among_those_tried() {
    let document: Value = serde_json::from_str(include_str!("../../infra/openapi.json")).unwrap();
    let items = document["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let taking: Vec<_> = operations
        .filter(|operation| has_field(&document, &operation["requestBody"], "run_as_role", 24))
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    assert_eq!(taking, ["createSubscription", "updateSubscription"]);
}
