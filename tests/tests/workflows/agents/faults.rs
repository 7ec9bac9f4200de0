//! Tests agents whose model or tools misbehave, and agents without a model.

use std::sync::Arc;

use serde_json::json;
use tests::agents::{Agents, calling, task};
use tests::model::{ModelRequest, Reply};
use tests::{Receiver, Runs};
use tokio::sync::Notify;

#[tokio::test]
async fn a_conversation_that_comes_to_no_end_is_ended_locally() {
    let world = Agents::start_local().await;
    let runs = &world.runs;
    let limited = json!({ "max_iterations": 5, "data": { "task": "Go on." } });
    for (reply, kind) in [
        (
            Box::new(|request: &ModelRequest| {
                Reply::Calls(vec![(
                    "post_update",
                    json!({ "message": request.number.to_string() }),
                )])
            }) as Box<dyn Fn(&ModelRequest) -> Reply + Send + Sync>,
            "MaxIterations",
        ),
        (Box::new(|_| Reply::Text("  ".to_owned())), "EmptyAnswer"),
        (Box::new(|_| Reply::Status(400)), "ModelBadRequest"),
    ] {
        world.model.answers(reply);
        let detail = runs.wait_for_status(&world.begin(&limited), "FAILED").await;
        assert_eq!(detail["error"]["type"], kind, "{detail}");
    }
    world
        .model
        .answers(|_| Reply::Calls(vec![("no_such_tool", json!({}))]));
    let run = world.begin(&task("Loop."));
    let detail = runs.wait_for_status(&run, "FAILED").await;
    assert_eq!(detail["error"]["type"], "ToolLoop");
}

#[tokio::test]
async fn a_model_that_fails_for_a_moment_is_asked_again_locally() {
    let world = Agents::start_local().await;
    world.model.answers(|request| match request.number {
        1 => Reply::Status(500),
        2 => Reply::Throttled(0),
        _ => Reply::Text("Done.".to_owned()),
    });
    let run = world.begin(&task("Wait."));
    world.runs.wait_for_status(&run, "COMPLETED").await;
    assert_eq!(world.model.requests().len(), 3);
}

#[tokio::test]
async fn without_a_model_a_run_fails_and_says_what_to_set_locally() {
    let runs = Runs::start_local().await;
    let run = runs.begin("AgentConversation", &task("Anything."));
    let detail = runs.wait_for_status(&run, "FAILED").await;
    assert_eq!(detail["error"]["type"], "ModelNotConfigured");
    let message = detail["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("MILLRACE_MODEL_PROVIDER") && message.contains("MILLRACE_MODEL_BASE_URL"),
        "{message}"
    );
}

#[tokio::test]
async fn a_crash_repeats_at_most_the_turn_that_was_under_way_locally() {
    let mut world = Agents::start_local().await;
    let gate = Arc::new(Notify::new());
    let model_gate = Arc::clone(&gate);
    world.model.answers(move |request| match request.number {
        1 => Reply::Calls(vec![("post_update", json!({ "message": "Once." }))]),
        2 => Reply::Held(Arc::clone(&model_gate), Box::new(Reply::Text("Lost.".to_owned()))),
        _ => Reply::Text("Done.".to_owned()),
    });
    let run = world.begin(&task("Survive."));
    world.model.wait_for_requests(2).await;
    world.runs.wait_for_attempt(&run).await;
    world.runs.service.restart();
    let detail = world.runs.wait_for_status(&run, "COMPLETED").await;
    assert_eq!(detail["result"], json!({ "message": "Done." }));
    assert_eq!(world.model.requests().len(), 3);
    let updates = world.runs.updates(&run, "").await;
    let posted = updates.iter().filter(|update| update["type"] == "AGENT_UPDATE");
    assert_eq!(posted.count(), 1);
    gate.notify_waiters();
}

#[tokio::test]
async fn what_a_tool_gives_is_cut_to_what_a_model_reads_locally() {
    let world = Agents::start_local_with(&[("MILLRACE_LOCAL_TARGETS", "true")]).await;
    let (runs, token) = (&world.runs, &world.runs.token);
    let receiver = Receiver::start().await;
    let host = receiver.origin.trim_start_matches("http://").to_owned();
    world.load("Caller", &json!({ "prompts": [], "allowed_hosts": [host] }));
    let answer = runs.service.post(token, "/data", &json!({ "name": "big" })).await;
    let store = answer.expect_status(201).id();
    let sql =
        |bytes: u64| json!({ "store_id": store, "sql": format!("SELECT repeat('x', {bytes}) AS text") });
    let url = |path: &str| json!({ "url": format!("{}{path}", receiver.origin) });
    world.model.answers(calling(vec![
        ("query_data_store", sql(200_000)),
        ("query_data_store", sql(10_000_000)),
        ("call_https", url("/endless")),
        ("call_https", url("/status/418")),
        ("call_https", url("/redirect?to=http://127.0.0.1:1/")),
        (
            "call_https",
            json!({ "url": format!("{}/in", receiver.origin), "method": "POST", "body": { "a": 1 } }),
        ),
    ]));
    let run = world.begin(&json!({ "interaction_ref": "int-Caller", "data": {} }));
    runs.wait_for_status(&run, "COMPLETED").await;
    let results = world.results(&run).await;
    let text = |index: usize| results[index]["text"].as_str().unwrap();
    assert!(
        text(0).len() < 51_000 && text(0).contains("[cut:"),
        "{}",
        text(0).len()
    );
    assert!(
        results[1]["is_error"] == true || text(1).contains("[cut:"),
        "{}",
        text(1).len()
    );
    assert!(
        text(2).len() < 51_000 && text(2).contains("[cut:"),
        "{}",
        text(2).len()
    );
    assert!(text(3).contains("\"status\":418"), "{}", text(3));
    assert!(
        results[4]["is_error"] == true && text(4).contains("redirect"),
        "{}",
        text(4)
    );
    assert_eq!(receiver.received_at("/in")[0].json(), json!({ "a": 1 }));
}
