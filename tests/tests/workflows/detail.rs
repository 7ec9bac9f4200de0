//! Tests one run in full: its fields, and both forms of its history.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::runs::{event_types, is_time};
use tests::{Answer, Run, Runs, unique};

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[track_caller]
fn check_keys(object: &Value, expected: &[&str]) {
    assert_eq!(keys(object), expected.iter().copied().collect(), "{object}");
}

/// Fields of every detail; an ended run has more.
const DETAIL: [&str; 11] = [
    "error",
    "initiated_by",
    "input",
    "memo",
    "pendingActivities",
    "run_id",
    "started_at",
    "status",
    "type",
    "visibility",
    "workflow_id",
];

const ENDED: [&str; 2] = ["closed_at", "execution_duration"];

/// Asserts the common parts of every event: its number, time, type, and the shapes of its parts.
#[track_caller]
fn check_events(events: &[Value]) {
    let mut time = String::new();
    for (place, event) in (1..).zip(events) {
        assert_eq!(event["event_id"], place, "{event}");
        assert_eq!(event["task_id"], place.to_string(), "{event}");
        assert!(is_time(&event["event_time"]), "{event}");
        assert!(event["event_time"].as_str().unwrap() >= time.as_str(), "{event}");
        event["event_time"].as_str().unwrap().clone_into(&mut time);
        assert!(event["attempt"].as_u64().unwrap() >= 1, "{event}");
        if let Some(result) = event.get("result") {
            assert!(result.is_array(), "{event}");
        }
        if let Some(activity) = event.get("activity") {
            assert!(activity["name"].is_string(), "{event}");
            assert!(activity["id"].is_string(), "{event}");
            assert!(activity["input"].is_array(), "{event}");
            for place in ["scheduledEventId", "startedEventId"] {
                let id = activity[place].as_str().unwrap();
                let id: usize = id.parse().unwrap();
                assert!((1..=events.len()).contains(&id), "{event}");
            }
        }
    }
    let types = event_types(events);
    assert_eq!(types[0], "WORKFLOW_EXECUTION_STARTED");
    assert!(
        !types.iter().any(|name| name.contains("WORKFLOW_TASK")),
        "{types:?}"
    );
}

/// Asserts the common parts of every task.
#[track_caller]
fn check_tasks(tasks: &[Value]) {
    for task in tasks {
        assert!(task["type"].is_string() && task["status"].is_string(), "{task}");
        assert!(is_time(&task["scheduled"]), "{task}");
        for time in ["started", "completed"] {
            assert!(task.get(time).is_none_or(is_time), "{task}");
        }
        assert!(task["attempts"].as_u64().unwrap() >= 1, "{task}");
        assert!(task["input"].is_array() && task["result"].is_array(), "{task}");
        assert!(
            task["error"].is_null() || task["error"]["message"].is_string(),
            "{task}"
        );
        assert!(keys(task).contains("error"), "{task}");
    }
}

async fn ended(runs: &Runs, run: &Run, status: &str) -> (Value, Vec<Value>, Vec<Value>) {
    let detail = runs.wait_for_status(run, status).await;
    let (events, tasks) = (runs.events(run).await, runs.tasks(run).await);
    check_events(&events);
    check_tasks(&tasks);
    (detail, events, tasks)
}

#[tokio::test]
async fn an_open_run_shows_its_work_and_no_end() {
    let runs = Runs::start().await;
    let input = json!({ "steps": 1, "pause_ms": 60_000 });
    let run = runs.begin("Steps", &input);
    let detail = runs.wait_for_attempt(&run).await;
    check_keys(&detail, &DETAIL);
    assert_eq!(detail["status"], "RUNNING");
    assert!(is_time(&detail["started_at"]), "{detail}");
    assert_eq!(detail["run_id"], run.run_id);
    assert_eq!(detail["workflow_id"], run.workflow_id);
    assert_eq!(detail["type"], "Steps");
    assert_eq!(detail["input"], input);
    assert_eq!(detail["memo"], json!({}));
    assert_eq!(detail["error"], Value::Null);
    assert_eq!(detail["visibility"], "project");

    let pending = detail["pendingActivities"].as_array().unwrap();
    assert_eq!(pending.len(), 1, "{detail}");
    check_keys(
        &pending[0],
        &[
            "activityId",
            "activityType",
            "attempt",
            "lastStartedTime",
            "maximumAttempts",
            "scheduled",
        ],
    );
    assert_eq!(pending[0]["activityId"], "1");
    assert_eq!(pending[0]["activityType"], "step");
    assert_eq!(pending[0]["attempt"], 1);
    assert_eq!(pending[0]["maximumAttempts"], 0);
    assert!(is_time(&pending[0]["scheduled"]), "{detail}");
    assert!(is_time(&pending[0]["lastStartedTime"]), "{detail}");

    let tasks = runs.tasks(&run).await;
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(tasks[0]["status"], "running");
    assert!(is_time(&tasks[0]["started"]), "{tasks:?}");
    assert!(tasks[0].get("completed").is_none(), "{tasks:?}");
}

#[tokio::test]
async fn a_run_that_has_completed_tells_its_result_and_how_long_it_took() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": 2, "pause_ms": 100 }));
    let (detail, ..) = ended(&runs, &run, "COMPLETED").await;
    let mut expected = [DETAIL.as_slice(), &ENDED].concat();
    expected.push("result");
    check_keys(&detail, &expected);
    assert_eq!(detail["result"], json!({ "steps": 2 }));
    assert_eq!(detail["error"], Value::Null);
    assert_eq!(detail["pendingActivities"], json!([]));
    assert!(is_time(&detail["closed_at"]), "{detail}");
    assert!(
        detail["closed_at"].as_str() > detail["started_at"].as_str(),
        "{detail}"
    );
    let seconds = detail["execution_duration"].as_f64().unwrap();
    assert!((0.2..60.0).contains(&seconds), "{detail}");
}

#[tokio::test]
async fn a_run_of_the_operator_names_the_operator() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": 0 }));
    assert_eq!(runs.detail(&run).await["initiated_by"], "user:ops");
}

#[tokio::test]
async fn history_is_in_the_detail_only_on_request() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": 1 }));
    runs.wait_for_status(&run, "COMPLETED").await;
    for without in [
        "",
        "?include_history=false",
        "?history_format=tasks",
        "?include_history=false&history_format=events",
    ] {
        let detail = runs.get(&run, without).await.expect_status(200).body;
        assert!(detail.get("history").is_none(), "{without}: {detail}");
    }
    let history = async |query: &str| -> Value {
        let detail = runs.get(&run, &format!("?include_history=true{query}")).await;
        detail.expect_status(200).body["history"].clone()
    };
    let events = history("").await;
    check_keys(&events, &["events", "type"]);
    assert_eq!(events["type"], "events");
    assert_eq!(events["events"].as_array().unwrap().len(), 5, "{events}");
    assert_eq!(history("&history_format=events").await, events);
    assert_eq!(history("&history_format=agent").await, events);
    let tasks = history("&history_format=tasks").await;
    check_keys(&tasks, &["tasks", "type"]);
    assert_eq!(tasks["type"], "tasks");
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 1, "{tasks}");

    for (after, count) in [("0", 5), ("3", 2), ("5", 0), ("99", 0)] {
        let rest = history(&format!("&history_after={after}")).await;
        let all = events["events"].as_array().unwrap();
        assert_eq!(rest["events"], json!(all[5 - count..]), "after {after}");
    }
}

#[tokio::test]
async fn a_history_of_another_kind_is_refused() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": 0 }));
    for (query, part) in [
        ("?include_history=true&history_format=xml", "history_format"),
        ("?history_format=Events", "history_format"),
        ("?include_history=maybe", "include_history"),
        ("?include_history=true&history_after=-1", "history_after"),
        ("?include_history=true&history_after=a", "history_after"),
    ] {
        let refused: Answer = runs.get(&run, query).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{query}: {}", refused.text());
    }
}

#[tokio::test]
async fn an_activity_is_three_events_and_one_task_however_often_it_was_tried() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": 2, "failures": 2 }));
    let (_, events, tasks) = ended(&runs, &run, "COMPLETED").await;
    let names = event_types(&events);
    let activity = [
        "ACTIVITY_TASK_SCHEDULED",
        "ACTIVITY_TASK_STARTED",
        "ACTIVITY_TASK_COMPLETED",
    ];
    assert_eq!(names[1..4], activity);
    assert_eq!(names[4..7], activity);
    assert_eq!(names[7..], ["WORKFLOW_EXECUTION_COMPLETED"]);
    assert_eq!(events[7]["result"], json!([{ "steps": 2 }]));
    let input = json!([{ "step": 2, "pause_ms": 0, "failures": 2 }]);
    for event in &events[4..7] {
        assert_eq!(
            event["activity"],
            json!({
                "name": "step",
                "id": "2",
                "input": input,
                "scheduledEventId": "5",
                "startedEventId": "6",
            })
        );
    }
    assert_eq!(events[4]["attempt"], 1);
    assert_eq!(events[5]["attempt"], 3);
    assert_eq!(events[5]["failure"]["message"], "Attempt 2 fails.");
    assert_eq!(events[5]["failure"]["type"], "Sample");
    assert_eq!(events[6]["attempt"], 3);
    assert!(events[6].get("failure").is_none(), "{}", events[6]);

    assert_eq!(tasks.len(), 2);
    check_keys(
        &tasks[1],
        &[
            "activityId",
            "activityName",
            "attempts",
            "completed",
            "error",
            "input",
            "result",
            "scheduled",
            "started",
            "status",
            "type",
        ],
    );
    assert_eq!(tasks[1]["type"], "activity");
    assert_eq!(tasks[1]["activityId"], "2");
    assert_eq!(tasks[1]["activityName"], "step");
    assert_eq!(tasks[1]["status"], "completed");
    assert_eq!(tasks[1]["attempts"], 3);
    assert_eq!(tasks[1]["input"], input);
    assert_eq!(tasks[1]["error"], Value::Null);
    assert_eq!(tasks[1]["scheduled"], events[4]["event_time"]);
    assert_eq!(tasks[1]["completed"], events[6]["event_time"]);
}

#[tokio::test]
async fn a_signal_is_an_event_and_a_task_and_the_timer_it_overtook_is_cancelled() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let body = json!({ "message": "yes", "by": { "name": "Ada" } });
    runs.signal(&run, "Approve", &body).await;
    let (detail, events, tasks) = ended(&runs, &run, "COMPLETED").await;
    assert_eq!(detail["result"], json!({ "approved": true, "message": "yes" }));
    let expected = [
        "WORKFLOW_EXECUTION_STARTED",
        "TIMER_STARTED",
        "WORKFLOW_EXECUTION_SIGNALED",
        "TIMER_CANCELED",
        "WORKFLOW_EXECUTION_COMPLETED",
    ];
    assert_eq!(event_types(&events), expected);
    assert_eq!(events[1]["timer"]["id"], "1");
    assert_eq!(events[1]["timer"]["duration"].as_f64(), Some(86_400.0));
    assert_eq!(events[3]["timer"], events[1]["timer"]);
    let signal = json!({ "name": "Approve", "input": [body], "identity": "user:developer" });
    assert_eq!(events[2]["signal"], signal);

    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[0]["type"], "timer");
    assert_eq!(tasks[0]["timerId"], "1");
    assert_eq!(tasks[0]["duration"].as_f64(), Some(86_400.0));
    assert_eq!(tasks[0]["status"], "canceled");
    assert_eq!(tasks[1]["type"], "signal");
    assert_eq!(tasks[1]["signalName"], "Approve");
    assert_eq!(tasks[1]["status"], "received");
    assert_eq!(tasks[1]["input"], json!([body]));
}

#[tokio::test]
async fn a_timer_that_fires_is_two_events_and_one_task() {
    let runs = Runs::start().await;
    let run = runs.begin("Approval", &json!({ "title": "Late", "timeout_seconds": 1 }));
    let (detail, events, tasks) = ended(&runs, &run, "COMPLETED").await;
    assert_eq!(detail["result"], json!({ "approved": false }));
    assert!(detail["execution_duration"].as_f64().unwrap() >= 1.0, "{detail}");
    let expected = [
        "WORKFLOW_EXECUTION_STARTED",
        "TIMER_STARTED",
        "TIMER_FIRED",
        "WORKFLOW_EXECUTION_COMPLETED",
    ];
    assert_eq!(event_types(&events), expected);
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0]["type"], "timer");
    assert_eq!(tasks[0]["status"], "completed");
    assert_eq!(tasks[0]["completed"], events[2]["event_time"]);
}

#[tokio::test]
async fn a_run_that_fails_says_why() {
    let runs = Runs::start().await;
    let run = runs.begin("Steps", &json!({ "steps": "many" }));
    let (detail, events, _) = ended(&runs, &run, "FAILED").await;
    check_keys(&detail, &[DETAIL.as_slice(), &ENDED].concat());
    let error = &detail["error"];
    assert_eq!(error["type"], "InvalidPayload");
    // The value itself may be private.
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("expected u32") && !message.contains("many"),
        "{error}"
    );
    let last = events.last().unwrap();
    assert_eq!(last["event_type"], "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED");
    assert_eq!(last["failure"], *error);
}

#[tokio::test]
async fn a_run_that_takes_longer_than_it_may_is_timed_out_and_so_is_what_it_does() {
    let runs = Runs::start().await;
    let input = json!({ "steps": 1, "pause_ms": 60_000 });
    let limit = ["--timeout-seconds", "1"];
    let (run, _) = runs.begin_with("Steps", &unique("workflow"), &input, &limit);
    let (detail, events, tasks) = ended_early(&runs, &run, "TIMED_OUT").await;
    assert_eq!(detail["error"]["type"], "Timeout");
    assert_eq!(detail["pendingActivities"], json!([]));
    let last = event_types(&events).last().copied();
    assert_eq!(last, Some("WORKFLOW_EXECUTION_TIMED_OUT"));
    assert_eq!(tasks[0]["status"], "canceled");
    assert_eq!(tasks[0]["completed"], detail["closed_at"]);
}

/// Like [`ended`], for runs whose activity does not end on its own.
async fn ended_early(runs: &Runs, run: &Run, status: &str) -> (Value, Vec<Value>, Vec<Value>) {
    let detail = runs.wait_for_status(run, status).await;
    let (events, tasks) = (runs.events(run).await, runs.tasks(run).await);
    check_tasks(&tasks);
    assert!(is_time(&detail["closed_at"]), "{detail}");
    (detail, events, tasks)
}

#[tokio::test]
async fn a_run_that_is_cancelled_or_terminated_says_so_and_its_activity_ends_with_it() {
    let runs = Runs::start().await;
    for (action, status, event) in [
        ("cancel", "CANCELED", "WORKFLOW_EXECUTION_CANCELED"),
        ("terminate", "TERMINATED", "WORKFLOW_EXECUTION_TERMINATED"),
    ] {
        let run = runs.begin("Steps", &json!({ "steps": 1, "pause_ms": 60_000 }));
        runs.wait_for_attempt(&run).await;
        let request = runs.post(
            &run,
            &format!("/actions/{action}"),
            &json!({ "reason": "enough" }),
        );
        request.await.expect_status(200);
        let (detail, events, tasks) = ended_early(&runs, &run, status).await;
        assert_eq!(detail["pendingActivities"], json!([]), "{detail}");
        assert_eq!(event_types(&events).last().copied(), Some(event), "{events:?}");
        let cancellation = events
            .iter()
            .find(|event| event["workflow"]["reason"] == "enough");
        assert_eq!(cancellation.unwrap()["workflow"]["identity"], "user:developer");
        assert_eq!(tasks[0]["status"], "canceled", "{tasks:?}");
    }
}
