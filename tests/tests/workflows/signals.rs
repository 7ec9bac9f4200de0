//! Tests signals to workflow runs, and queries of them.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::Runs;
use tests::runs::event;

#[tokio::test]
async fn a_signal_carries_a_message_and_whatever_else_there_is() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    for body in [
        json!({}),
        json!({ "message": 7 }),
        json!({ "message": null }),
        json!([]),
    ] {
        let refused = runs.post(&run, "/signal/Approve", &body).await;
        refused.expect_error(400, "invalid_request");
    }
    let nothing = runs.post_nothing(&run, "/signal/Approve").await;
    assert!([400, 415].contains(&nothing.status), "{}", nothing.text());
    nothing.check_error();

    let body = json!({ "message": "yes", "amount": 12.5, "by": { "name": "Ada", "tags": [1, null] } });
    let answer = runs.post(&run, "/signal/Approve", &body).await.expect_status(200);
    assert_eq!(answer.body["status"], "success");
    assert!(answer.body["message"].is_string());
    assert_eq!(answer.body.as_object().unwrap().len(), 2);
    let detail = runs.wait_for_status(&run, "COMPLETED").await;
    assert_eq!(detail["result"]["message"], "yes");
    let events = runs.events(&run).await;
    let signal = &event(&events, "WORKFLOW_EXECUTION_SIGNALED")["signal"];
    assert_eq!(signal["input"], json!([body]));
}

#[tokio::test]
async fn a_signal_without_a_receiver_stays_in_the_history() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    runs.signal(&run, "Note", &json!({ "message": "m" })).await;
    let events = runs.events(&run).await;
    assert_eq!(
        event(&events, "WORKFLOW_EXECUTION_SIGNALED")["signal"]["name"],
        "Note"
    );
    // A signal that the type does not know is a mistake, and would wait for ever.
    let path = "/signal/Gr%C3%B6%C3%9Fe%20und%20%252F";
    let refused = runs.post(&run, path, &json!({ "message": "m" })).await;
    assert_eq!(
        refused.expect_error(404, "not_found").message(),
        "The workflow type 'Approval' has no signal 'Größe und %2F'; it has 'Approve' and 'Note'."
    );
    assert_eq!(runs.events(&run).await.len(), events.len());
    for (rest, status) in [
        ("/signal/%20", 400),
        ("/signal/%09%20", 400),
        ("/signal/", 404),
        ("/signal", 404),
    ] {
        let refused = runs.post(&run, rest, &json!({ "message": "m" })).await;
        assert_eq!(refused.status, status, "{rest}: {}", refused.text());
        refused.check_error();
    }
    let detail = runs.detail(&run).await;
    assert_eq!(detail["status"], "RUNNING", "{detail}");
}

#[tokio::test]
async fn signals_that_come_at_once_are_all_kept_in_the_order_of_their_answers() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let note = async |n: u64| {
        let body = json!({ "message": format!("note {n}") });
        runs.signal(&run, "Note", &body).await;
    };
    join_all((0..10).map(note)).await;
    // A later signal comes after all others.
    note(10).await;
    let events = runs.events(&run).await;
    let notes: Vec<_> = events
        .iter()
        .filter(|event| event["signal"]["name"] == "Note")
        .map(|event| {
            event["signal"]["input"][0]["message"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let all: BTreeSet<_> = (0..=10).map(|n| format!("note {n}")).collect();
    assert_eq!(notes.len(), 11);
    assert_eq!(notes.iter().cloned().collect::<BTreeSet<_>>(), all);
    assert_eq!(notes.last().unwrap(), "note 10");
    let ids: Vec<_> = events
        .iter()
        .map(|event| event["event_id"].as_u64().unwrap())
        .collect();
    assert!(ids.iter().copied().eq(1..=ids.len() as u64), "{ids:?}");
    runs.signal(&run, "Approve", &json!({ "message": "yes" })).await;
    runs.wait_for_status(&run, "COMPLETED").await;
}

#[tokio::test]
async fn a_query_tells_what_the_run_exposes_and_what_it_waits_for() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let ask = async |name: &str| -> Value {
        let answer = runs.get(&run, &format!("/query/{name}")).await;
        answer.expect_status(200).body
    };
    let state = json!({ "title": "Invoice", "waits_for": "Approve" });
    assert_eq!(ask("__state").await, state);
    let stack = ask("__stack").await.to_string();
    assert!(
        stack.contains("timer") && stack.contains("signal Approve"),
        "{stack}"
    );
    assert_eq!(ask("__signals").await, json!(["Approve"]));
    let before = runs.events(&run).await;
    for _ in 0..5 {
        assert_eq!(ask("__state").await, state);
    }
    assert_eq!(runs.events(&run).await, before);

    runs.signal(&run, "Approve", &json!({ "message": "yes" })).await;
    runs.wait_for_status(&run, "COMPLETED").await;
    assert_eq!(ask("__state").await, state);
    assert_eq!(ask("__stack").await, json!([]));
    assert_eq!(ask("__signals").await, json!([]));
    let terminated = runs.approval("Other").await;
    runs.act(&terminated, "terminate").await;
    let state = runs
        .get(&terminated, "/query/__state")
        .await
        .expect_status(200)
        .body;
    assert_eq!(state["title"], "Other");
}

#[tokio::test]
async fn a_query_that_the_run_does_not_answer_is_not_found_and_one_without_a_name_is_refused() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    for name in ["BatchAgentProgress", "nope", "__State"] {
        let refused = runs.get(&run, &format!("/query/{name}")).await;
        let refused = refused.expect_error(404, "not_found");
        assert!(refused.message().contains(name), "{}", refused.text());
    }
    for rest in ["/query", "/query/", "/query/%20"] {
        let refused = runs.get(&run, rest).await.expect_error(400, "invalid_request");
        assert!(refused.message().contains("query_name"), "{}", refused.text());
    }
    for path in [
        format!("/workflows/runs/%20/{}/query/__state", run.run_id),
        format!("/workflows/runs/{}/%20/query/__state", run.workflow_id),
    ] {
        let refused = runs.service.get(&runs.token, &path).await;
        refused.expect_error(400, "invalid_request");
    }
}
