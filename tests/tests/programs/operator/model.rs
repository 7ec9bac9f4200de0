//! Tests `ops model`, which replaces a language model to try agents and semantic conditions.

use serde_json::json;
use tests::Events;
use tests::stand_in::StandIn;

#[tokio::test]
async fn an_event_that_meets_a_condition_starts_an_agent_that_the_stand_in_answers_for_locally() {
    let stand_in = StandIn::start();
    let events = Events::start_local_with(&stand_in.variables()).await;
    events
        .subscribe(&json!({
            "name": "Complaints", "run_as_role": "executor",
            "filter": {
                "event_category": ["external"],
                "semantic_condition": { "instruction": "The customer complains." },
            },
            "target": { "type": "agent", "data": { "text": "$event.details.payload.text" } },
        }))
        .await;
    let channel = events.plain_channel().await;
    let event = events
        .event(&channel, &json!({ "text": "My parcel is late." }))
        .await;
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(delivery["semantic_evaluation"]["matched"], true, "{delivery}");
    let run = format!(
        "{}/{}",
        delivery["workflow_id"].as_str().unwrap(),
        delivery["workflow_run_id"].as_str().unwrap()
    );
    let detail = events.get(&events.token, &format!("/workflows/runs/{run}")).await;
    let detail = detail.expect_status(200).body;
    assert_eq!(detail["type"], "AgentConversation");
    let message = detail["result"]["message"].as_str().unwrap();
    assert!(message.starts_with("The stand-in was told: "), "{message}");
    let updates = events
        .get(&events.token, &format!("/workflows/runs/{run}/updates"))
        .await;
    let updates = updates.expect_status(200).body.to_string();
    assert!(updates.contains("My parcel is late."), "{updates}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named_locally() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let events = Events::start_local().await;
    let refused = events.service.operator().run(&["model", "--port", &port]);
    assert!(
        refused.stderr.contains("Choose another by --port."),
        "{refused:?}"
    );
}
