//! Tests `POST /events/subscriptions/test`: the verdict is that of the matcher, and nothing is delivered.

use serde_json::{Value, json};
use tests::{Answer, Persona, Service};

const PATH: &str = "/events/subscriptions/test";

async fn test(service: &Service, token: &str, filter: &Value, event: &Value) -> Answer {
    let body = json!({ "filter": filter, "event": event });
    service.post(token, PATH, &body).await
}

#[tokio::test]
async fn a_verdict_names_the_first_condition_that_is_not_met() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Reader);
    let event = json!({
        "event_category": "external", "action": "paid", "resource_type": "invoice", "resource_id": "i-1",
        "details": { "payload": { "amount": 80 } }, "meters": [{ "category": "a", "type": "b", "quantity": 1 }],
    });
    let amount = json!({ ">": [{ "var": "details.payload.amount" }, 100] });
    for (filter, reason) in [
        (json!({}), Value::Null),
        (
            json!({ "event_category": ["*"], "action": ["paid"] }),
            Value::Null,
        ),
        (
            json!({ "event_category": ["content"] }),
            json!("event_category does not have 'external'"),
        ),
        (
            json!({ "exclude_event_category": ["external"] }),
            json!("exclude_event_category has 'external'"),
        ),
        (
            json!({ "action": ["sent"], "condition": amount }),
            json!("action does not have 'paid'"),
        ),
        (
            json!({ "resource_type": ["order"] }),
            json!("resource_type does not have 'invoice'"),
        ),
        (
            json!({ "condition": amount }),
            json!("condition is not true: details.payload.amount is 80"),
        ),
        (json!({ "action": ["pa*"], "resource_type": ["*"] }), Value::Null),
        (
            json!({ "action": ["pay*", "send.*"] }),
            json!("action does not have 'paid'"),
        ),
        (
            json!({ "condition": { "<": [{ "var": "details.payload.amount" }, 100] } }),
            Value::Null,
        ),
    ] {
        let answer = test(&service, &token, &filter, &event).await.expect_status(200);
        let expected = json!({ "matches": reason.is_null(), "reason": reason });
        assert_eq!(answer.body, expected, "{filter}");
    }
}

#[tokio::test]
async fn field_left_out_of_a_sample_event_has_a_value() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Reader);
    for condition in [
        json!({ "==": [{ "var": "account_id" }, scope.account] }),
        json!({ "==": [{ "var": "project_id" }, scope.project] }),
        json!({ "==": [{ "var": "event_category" }, "external"] }),
        json!({ "==": [{ "var": "action" }, "sample"] }),
        json!({ "==": [{ "var": "source" }, "external:sample"] }),
        json!({ "!!": [{ "var": "event_id" }] }),
        json!({ ">": [{ "var": "timestamp" }, "2024"] }),
        json!({ "==": [{ "var": "tenant_id" }, null] }),
    ] {
        let answer = test(&service, &token, &json!({ "condition": condition }), &json!({})).await;
        assert_eq!(answer.expect_status(200).body["matches"], true, "{condition}");
    }
}

#[tokio::test]
async fn a_semantic_condition_is_told_to_be_open() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Reader);
    let filter = json!({ "action": ["paid"], "semantic_condition": { "instruction": "It is late." } });
    let answer = test(&service, &token, &filter, &json!({ "action": "paid" })).await;
    let expected = json!({ "matches": true, "reason": null, "semantic_condition": "not_evaluated" });
    assert_eq!(answer.expect_status(200).body, expected);
    let answer = test(&service, &token, &filter, &json!({ "action": "sent" })).await;
    let expected = json!({ "matches": false, "reason": "action does not have 'sent'" });
    assert_eq!(answer.expect_status(200).body, expected);
}

#[tokio::test]
async fn a_filter_that_can_never_match_is_warned_of_in_the_words_of_a_creation() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for (filter, warned) in [
        (json!({ "action": ["paid "] }), "'paid '"),
        (json!({ "resource_type": ["in*ce"] }), "'in*ce'"),
        (
            json!({ "condition": { "==": [{ "var": "payload.amount" }, 1] } }),
            "'payload.amount'",
        ),
        (
            json!({ "condition": { "==": [{ "var": "action" }, "{{ event.action }}"] } }),
            "'{{ event.action }}'",
        ),
        (
            json!({ "condition": { "!=": ["$event.action", "x"] } }),
            "'$event.action'",
        ),
        (
            json!({ "condition": { "missing": ["event.details"] } }),
            "'event.details'",
        ),
        (
            json!({ "condition": { "some": [{ "var": "items" }, { "==": [{ "var": "sku" }, "A"] }] } }),
            "'items'",
        ),
    ] {
        let tested = test(&service, &token, &filter, &json!({}))
            .await
            .expect_status(200)
            .body;
        let subscription = json!({
            "name": "n", "run_as_role": "reader", "filter": filter, "target": { "type": "workflow", "endpoint": "Approval" },
        });
        let created = service.post(&token, "/events/subscriptions", &subscription).await;
        assert_eq!(created.expect_status(201).body["warnings"], tested["warnings"]);
        let warnings = tested["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "{tested}");
        assert!(warnings[0].as_str().unwrap().contains(warned), "{tested}");
    }
}

#[tokio::test]
async fn an_invalid_filter_has_the_words_of_a_creation() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for filter in [
        json!([]),
        json!({ "actions": ["paid"] }),
        json!({ "action": "paid" }),
        json!({ "event_category": ["contents"] }),
        json!({ "action": [""] }),
        json!({ "condition": { "method": ["a", "b"] } }),
        json!({ "condition": { "==": [1, 1], "!=": [1, 1] } }),
        json!({ "semantic_condition": { "instruction": "" } }),
    ] {
        let subscription = json!({
            "name": "n", "run_as_role": "reader", "filter": filter, "target": { "type": "workflow", "endpoint": "Approval" },
        });
        let created = service.post(&token, "/events/subscriptions", &subscription).await;
        let tested = test(&service, &token, &filter, &json!({}))
            .await
            .expect_error(400, "invalid_request");
        let words = |answer: &Answer| answer.message().split(" at line ").next().map(str::to_owned);
        assert_eq!(words(&tested), words(&created), "{filter}");
    }
}

#[tokio::test]
async fn an_invalid_event_is_refused() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Reader);
    for (event, part) in [
        (json!([]), "$.event"),
        (json!("x"), "$.event"),
        (json!({ "event_category": "other" }), "$.event.event_category"),
        (json!({ "action": 7 }), "$.event.action"),
        (json!({ "action": "" }), "'action'"),
        (json!({ "resource_type": "a\u{7}" }), "'resource_type'"),
        (json!({ "timestamp": "yesterday" }), "$.event.timestamp"),
        (json!({ "details": [] }), "$.event.details"),
        (
            json!({ "meters": [{ "category": "a", "type": "b", "quantity": -1 }] }),
            "quantity",
        ),
        (json!({ "account_id": "a#b" }), "account"),
    ] {
        let refused = test(&service, &token, &json!({}), &event)
            .await
            .expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{event}: {}", refused.message());
    }
    for (body, part) in [
        (json!({ "event": {} }), "filter"),
        (json!({ "filter": {} }), "event"),
    ] {
        let refused = service.post(&token, PATH, &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{}", refused.message());
    }
}

#[tokio::test]
async fn a_condition_that_takes_too_many_steps_does_not_match() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Reader);
    let numbers: Vec<u32> = (0..20_000).collect();
    let inner = json!({ "some": [numbers[..900], { "==": [{ "var": "" }, "x"] }] });
    let filter = json!({ "condition": { "none": [{ "var": "details.list" }, inner] } });
    let event = json!({ "details": { "list": numbers } });
    let answer = test(&service, &token, &filter, &event).await.expect_status(200);
    assert_eq!(answer.body["matches"], false);
    let reason = answer.body["reason"].as_str().unwrap();
    assert!(reason.contains("steps on this event"), "{reason}");
}

#[tokio::test]
async fn filter_test_needs_the_permission_to_read_and_stores_nothing() {
    let service = Service::start().await;
    let scope = service.scope();
    let reader = scope.token(Persona::Reader);
    let nobody = scope.token(Persona::Nobody);
    test(&service, &nobody, &json!({}), &json!({}))
        .await
        .expect_error(403, "forbidden");
    test(&service, &reader, &json!({}), &json!({}))
        .await
        .expect_status(200);
    let listed = service.get(&reader, "/events/subscriptions").await;
    assert_eq!(listed.expect_status(200).body, json!([]));
    let answer = service
        .post(&reader, "/events/deliveries/search", &json!({}))
        .await;
    assert_eq!(answer.expect_status(200).body["deliveries"], json!([]));
}
