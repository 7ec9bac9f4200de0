//! Tests that events keep the tenant in the token of the caller that caused them.

use serde_json::{Value, json};
use tests::Events;

#[tokio::test]
async fn an_event_keeps_the_tenant_of_the_caller_who_caused_it() {
    let events = Events::start().await;
    let mut body = events.webhook_body("/runs");
    body["filter"] = json!({ "event_category": ["workflow"], "resource_type": ["workflow_run"] });
    events.subscribe(&body).await;
    let arguments = ["--tenant-id", "tenant-7"];
    let token = events.scope.token_with(&arguments);
    let mut expected = Vec::new();
    for (action, ends) in [
        ("terminate", "workflow_terminated"),
        ("cancel", "workflow_canceled"),
    ] {
        for (token, tenant) in [(&token, json!("tenant-7")), (&events.token, Value::Null)] {
            let input = r#"{"title":"An order"}"#;
            let run = events
                .scope
                .ops_json(&["run", "start", "Approval", "--input", input]);
            let id = run["run_id"].as_str().unwrap();
            let path = format!(
                "/workflows/runs/{}/{id}/actions/{action}",
                run["workflow_id"].as_str().unwrap()
            );
            events.post(token, &path, &json!({})).await.expect_status(200);
            expected.push((id.to_owned(), "workflow_started".to_owned(), Value::Null));
            expected.push((id.to_owned(), ends.to_owned(), tenant));
        }
    }
    let received = events.received("/runs", expected.len()).await;
    let mut actual: Vec<_> = received
        .iter()
        .map(|request| {
            let event = &request.json()["event"];
            let text = |name: &str| event[name].as_str().unwrap().to_owned();
            (text("resource_id"), text("action"), event["tenant_id"].clone())
        })
        .collect();
    let by_run = |one: &(String, String, Value), other: &(String, String, Value)| {
        (&one.0, &one.1).cmp(&(&other.0, &other.1))
    };
    actual.sort_by(by_run);
    expected.sort_by(by_run);
    assert_eq!(actual, expected);
}
