//! Tests agents that a subscription starts.

use serde_json::json;
use tests::Events;
use tests::model::{ModelServer, Reply};

#[tokio::test]
async fn an_event_starts_an_agent_with_its_data_and_the_role_of_the_subscription_locally() {
    let model = ModelServer::start().await;
    let events = Events::start_local_with(&model.variables()).await;
    model.answers(|request| match request.texts("tool").is_empty() {
        true => Reply::Calls(vec![("list_runs", json!({}))]),
        false => Reply::Text("Looked at it.".to_owned()),
    });
    let channel = events.plain_channel().await;
    for (role, is_permitted) in [("reader", false), ("executor", true)] {
        let action = format!("invoice-{role}");
        let subscription = events
            .subscribe(&json!({
                "name": role, "run_as_role": role, "filter": { "action": [action] },
                "target": { "type": "agent", "data": { "invoice": "$event.details.payload.id" }, "max_iterations": 3 },
            }))
            .await;
        let event = events
            .event(&channel, &json!({ "action": action, "id": 7 }))
            .await;
        let delivery = events.delivery_of(&event, &["succeeded"]).await;
        assert_eq!(delivery["target_type"], "agent");
        let run = format!(
            "/workflows/runs/{}/{}",
            delivery["workflow_id"].as_str().unwrap(),
            delivery["workflow_run_id"].as_str().unwrap()
        );
        let get = async |rest: &str| {
            let answer = events.get(&events.token, &format!("{run}{rest}")).await;
            answer.expect_status(200).body
        };
        let detail = get("").await;
        assert_eq!(detail["type"], "AgentConversation");
        assert_eq!(detail["result"], json!({ "message": "Looked at it." }));
        assert_eq!(detail["input"]["data"], json!({ "invoice": 7 }));
        assert_eq!(detail["memo"]["source_type"], "event_subscription");
        assert_eq!(detail["memo"]["subscription_id"], subscription["id"]);
        assert_eq!(detail["memo"]["event_ref"]["event_id"], json!(event));
        let conversation = get("/query/Conversation").await;
        let heard = &conversation["messages"][2]["results"][0];
        assert_eq!(heard["is_error"], !is_permitted, "{heard}");
    }
    let listed = events
        .post(&events.token, "/workflows/conversations", &json!({}))
        .await;
    let listed = listed.expect_status(200).body;
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
    assert_eq!(listed["runs"][0]["interaction_name"], "sys:general");
}

#[tokio::test]
async fn a_delivery_to_an_agent_that_fails_says_why_locally() {
    let events = Events::start_local().await;
    let subscription = json!({
        "name": "No model", "run_as_role": "reader", "filter": { "event_category": ["external"] },
        "target": { "type": "agent" },
    });
    events.subscribe(&subscription).await;
    let channel = events.plain_channel().await;
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["failed"]).await;
    let error = delivery["last_error"].as_str().unwrap();
    assert!(error.contains("MILLRACE_MODEL_PROVIDER"), "{error}");
}
