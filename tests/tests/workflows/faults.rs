//! Tests runs with faulty code: they wait for corrected code and do not block other runs.

use serde_json::{Value, json};
use tests::runs::is_time;
use tests::{Run, Runs};

async fn faulty() -> Runs {
    Runs::start_local_with(&[("MILLRACE_FAULTY_SAMPLES", "true")]).await
}

/// Waits until `count` turns of a run have failed in a row. Returns the pending turn.
async fn wait_for_failed_turns(runs: &Runs, run: &Run, count: u64) -> Value {
    let failed = |detail: &Value| detail["pendingWorkflowTask"]["attempt"].as_u64() >= Some(count);
    let detail = runs.wait_until(run, failed).await;
    assert_eq!(detail["status"], "RUNNING", "{detail}");
    assert_eq!(detail["error"], Value::Null, "{detail}");
    detail["pendingWorkflowTask"].clone()
}

#[track_caller]
fn check_failed_turn(task: &Value, kind: &str, words: &str) {
    assert_eq!(task["lastFailure"]["type"], kind, "{task}");
    let message = task["lastFailure"]["message"].as_str().unwrap();
    assert!(!message.is_empty() && message.contains(words), "{task}");
    assert!(is_time(&task["nextAttemptTime"]), "{task}");
}

#[tokio::test]
async fn a_run_whose_code_panics_is_tried_again_and_can_be_terminated_locally() {
    let runs = faulty().await;
    let run = runs.begin("Panicking", &Value::Null);
    let first = wait_for_failed_turns(&runs, &run, 1).await;
    check_failed_turn(&first, "Panic", "");
    let later = wait_for_failed_turns(&runs, &run, 3).await;
    assert!(later["nextAttemptTime"].as_str() > first["nextAttemptTime"].as_str());
    for query in ["__state", "__stack"] {
        let failed = runs.get(&run, &format!("/query/{query}")).await;
        failed.expect_error(500, "internal");
    }
    assert_eq!(runs.events(&run).await.len(), 1);

    let cancelled = runs.begin("Panicking", &Value::Null);
    runs.act(&cancelled, "cancel").await;
    wait_for_failed_turns(&runs, &cancelled, 2).await;
    for run in [&run, &cancelled] {
        runs.act(run, "terminate").await;
        let detail = runs.detail(run).await;
        assert_eq!(detail["status"], "TERMINATED", "{detail}");
        assert!(detail.get("pendingWorkflowTask").is_none(), "{detail}");
    }
}

#[tokio::test]
async fn a_run_whose_code_never_gives_way_stops_no_other_run_locally() {
    let runs = faulty().await;
    let stuck = runs.begin("Spinning", &Value::Null);
    // Other runs complete meanwhile.
    for _ in 0..3 {
        let run = runs.begin("Steps", &json!({ "steps": 3 }));
        runs.wait_for_status(&run, "COMPLETED").await;
    }
    let first = wait_for_failed_turns(&runs, &stuck, 1).await;
    check_failed_turn(&first, "Stuck", "5 seconds");
    wait_for_failed_turns(&runs, &stuck, 2).await;
    let run = runs.begin("Steps", &json!({ "steps": 3 }));
    runs.wait_for_status(&run, "COMPLETED").await;
    runs.get(&stuck, "/query/__state")
        .await
        .expect_error(500, "internal");
    runs.act(&stuck, "terminate").await;
    assert_eq!(runs.detail(&stuck).await["status"], "TERMINATED");
}

#[tokio::test]
async fn a_service_ends_when_it_is_asked_to_though_code_never_gives_way_locally() {
    let mut runs = faulty().await;
    let stuck = runs.begin("Spinning", &Value::Null);
    wait_for_failed_turns(&runs, &stuck, 1).await;
    assert_eq!(runs.service.process().stop(), Some(0));
    // The run is still there after the next start.
    runs.service.restart();
    let detail = runs.detail(&stuck).await;
    assert_eq!(detail["status"], "RUNNING", "{detail}");
}

#[tokio::test]
async fn a_run_whose_code_changed_its_mind_waits_and_says_where_locally() {
    let runs = faulty().await;
    let run = runs.begin("Unsteady", &Value::Null);
    let first = wait_for_failed_turns(&runs, &run, 1).await;
    check_failed_turn(&first, "NonDeterministic", "event 2");
    wait_for_failed_turns(&runs, &run, 2).await;
    runs.get(&run, "/query/__stack")
        .await
        .expect_error(500, "internal");
    runs.act(&run, "terminate").await;
    assert_eq!(runs.detail(&run).await["status"], "TERMINATED");
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_the_activity_and_the_run_locally() {
    let runs = faulty().await;
    let run = runs.begin("Large", &Value::Null);
    let detail = runs.wait_for_status(&run, "FAILED").await;
    assert_eq!(detail["error"]["type"], "PayloadTooLarge", "{detail}");
    let tasks = runs.tasks(&run).await;
    assert_eq!(tasks[0]["status"], "failed");
    assert_eq!(tasks[0]["attempts"], 1);
    assert_eq!(tasks[0]["error"], detail["error"]);
    let events = runs.events(&run).await;
    let failed = &events[events.len() - 2];
    assert_eq!(failed["event_type"], "EVENT_TYPE_ACTIVITY_TASK_FAILED");
    assert_eq!(failed["failure"], detail["error"]);
}

#[tokio::test]
async fn a_pending_retry_shows_its_reason_and_time_locally() {
    let runs = faulty().await;
    let run = runs.begin("Steps", &json!({ "steps": 1, "failures": 1_000 }));
    let pending = |detail: &Value| detail["pendingActivities"][0].clone();
    let waits = |detail: &Value| {
        let activity = pending(detail);
        activity["attempt"].as_u64() >= Some(4) && activity["nextAttemptTime"].is_string()
    };
    let activity = pending(&runs.wait_until(&run, waits).await);
    let before = activity["attempt"].as_u64().unwrap() - 1;
    let failure =
        json!({ "message": format!("Attempt {before} fails."), "type": "Sample", "source": "step" });
    assert_eq!(activity["lastFailure"], failure);
    assert!(is_time(&activity["nextAttemptTime"]), "{activity}");
    assert!(activity.get("lastStartedTime").is_none(), "{activity}");
    let tasks = runs.tasks(&run).await;
    assert!(tasks[0]["attempts"].as_u64() >= Some(4), "{tasks:?}");
    runs.act(&run, "cancel").await;
    runs.wait_for_status(&run, "CANCELED").await;
}

#[tokio::test]
async fn a_run_whose_code_panics_is_tried_again_after_a_restart_locally() {
    let mut runs = faulty().await;
    let run = runs.begin("Panicking", &Value::Null);
    wait_for_failed_turns(&runs, &run, 1).await;
    runs.service.restart();
    wait_for_failed_turns(&runs, &run, 2).await;
    runs.act(&run, "terminate").await;
    assert_eq!(runs.detail(&run).await["status"], "TERMINATED");
}
