//! Tests runs through the operator command: starting, listing and showing them; and the list of workflow
//! types.

use serde_json::{Value, json};
use tests::{Events, Run, Runs};

/// Returns the run that the operator command reports to have started.
fn started(printed: &Value) -> Run {
    let text = |field: &str| printed[field].as_str().unwrap().to_owned();
    Run {
        workflow_id: text("workflow_id"),
        run_id: text("run_id"),
    }
}

#[tokio::test]
async fn the_operator_command_shows_when_a_run_ended_locally() {
    let runs = Runs::start_local().await;
    let run = runs.begin("Steps", &json!({ "steps": 1 }));
    runs.wait_for_status(&run, "COMPLETED").await;
    let stdout = runs
        .scope
        .ops(&["run", "show", &run.run_id])
        .expect_success()
        .stdout;
    let status = stdout.lines().nth(1).unwrap();
    assert!(
        status.starts_with("COMPLETED at 2") && status.contains(" s after 2"),
        "{stdout}"
    );
    assert!(!stdout.contains("since"), "{stdout}");
    let waits = runs.begin("Approval", &json!({}));
    let stdout = runs
        .scope
        .ops(&["run", "show", &waits.run_id])
        .expect_success()
        .stdout;
    assert!(
        stdout.lines().nth(1).unwrap().starts_with("RUNNING since 2"),
        "{stdout}"
    );
}

#[tokio::test]
async fn a_run_begins_with_fields_that_need_no_quotes_or_with_a_file_locally() {
    let runs = Runs::start_local().await;
    let scope = &runs.scope;
    let run = started(&scope.ops_json(&[
        "run",
        "start",
        "Approval",
        "title=Buy a horse",
        "timeout_seconds:=60",
    ]));
    assert_eq!(
        runs.detail(&run).await["input"],
        json!({ "title": "Buy a horse", "timeout_seconds": 60 })
    );
    let file = runs.service.folder().join("input.json");
    std::fs::write(&file, r#"{"title":"From a file"}"#).unwrap();
    let path = file.to_string_lossy();
    let run = started(&scope.ops_json(&["run", "start", "Approval", "--input-file", &path]));
    assert_eq!(runs.detail(&run).await["input"]["title"], "From a file");
    for arguments in [
        &["a=1", "--input", "{}"][..],
        &["steps"],
        &["--input", "{title:1}"],
    ] {
        let mut all = vec!["run", "start", "Approval"];
        all.extend(arguments);
        scope.ops(&all).expect_refusal();
    }
}

#[tokio::test]
async fn the_workflow_types_are_listed_with_their_signals_and_queries() {
    let runs = Runs::start().await;
    let listed = runs
        .service
        .get(&runs.token, "/workflows/types")
        .await
        .expect_status(200)
        .body;
    let types = listed["types"].as_array().unwrap();
    let names: Vec<_> = types.iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert!(
        names.is_sorted() && !names.contains(&"WebhookDelivery"),
        "{names:?}"
    );
    let of = |name: &str| types.iter().find(|item| item["name"] == name).unwrap();
    assert_eq!(
        of("Approval"),
        &json!({ "name": "Approval", "signals": ["Approve", "Note"], "queries": ["__state"] })
    );
    assert_eq!(
        of("BatchAgentWorkflow"),
        &json!({ "name": "BatchAgentWorkflow", "signals": [], "queries": ["BatchAgentProgress"] })
    );
    assert_eq!(
        of("Steps"),
        &json!({ "name": "Steps", "signals": [], "queries": [] })
    );
}

#[tokio::test]
async fn the_operator_command_lists_runs_of_deliveries_only_where_they_are_asked_for_locally() {
    let events = Events::start_local().await;
    events.webhook("/hidden").await;
    let channel = events.plain_channel().await;
    let event = events.event(&channel, &json!({ "a": 1 })).await;
    events.delivery_of(&event, &["succeeded"]).await;
    let scope = &events.scope;
    scope
        .ops(&["run", "start", "Steps", "steps:=0", "--id", "mine"])
        .expect_success();
    let listed = |more: &[&str]| -> Vec<String> {
        let mut arguments = vec!["run", "list"];
        arguments.extend(more);
        let listed = scope.ops_json(&arguments)["runs"].clone();
        let types = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["type"].as_str().unwrap().to_owned());
        types.collect()
    };
    assert_eq!(listed(&[]), ["Steps"]);
    assert_eq!(listed(&["--deliveries"]), ["Steps", "WebhookDelivery"]);
    assert_eq!(
        listed(&["--query", "ExecutionStatus = 'RUNNING' OR WorkflowId = 'mine'"]),
        ["Steps"]
    );
    // The column refers to the caller's own text.
    for more in [&[][..], &["--deliveries"]] {
        let arguments = [&["run", "list", "--query", "WorkflowTyp = 'x'"][..], more].concat();
        let refused = scope.ops(&arguments).expect_refusal();
        assert!(refused.stderr.contains("at column 1:"), "{refused:?}");
    }
    let redriven = scope.ops(&["delivery", "redrive", "--subscription", "nope"]);
    assert_eq!(
        redriven.expect_success().stdout,
        "There are no such deliveries.\n"
    );
}
