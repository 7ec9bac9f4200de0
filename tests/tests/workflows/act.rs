//! Tests cancelling and terminating workflow runs, and which callers may access a run.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::runs::{event, event_types};
use tests::{Method, Persona, Run, Runs};

#[tokio::test]
async fn a_run_that_is_cancelled_cleans_up_and_ends_canceled() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let request = runs.post(&run, "/actions/cancel", &json!({ "reason": "not needed" }));
    let answer = request.await.expect_status(200);
    let message = answer.body["message"].as_str().unwrap();
    assert!(
        message.contains(&run.run_id) && message.contains("cancel"),
        "{message}"
    );
    assert_eq!(answer.body.as_object().unwrap().len(), 1, "{}", answer.text());

    runs.wait_for_status(&run, "CANCELED").await;
    let events = runs.events(&run).await;
    let expected = [
        "WORKFLOW_EXECUTION_STARTED",
        "TIMER_STARTED",
        "WORKFLOW_EXECUTION_CANCEL_REQUESTED",
        "TIMER_CANCELED",
        "ACTIVITY_TASK_SCHEDULED",
        "ACTIVITY_TASK_STARTED",
        "ACTIVITY_TASK_COMPLETED",
        "WORKFLOW_EXECUTION_CANCELED",
    ];
    assert_eq!(event_types(&events), expected);
    assert_eq!(
        events[2]["workflow"],
        json!({ "identity": "user:developer", "reason": "not needed" })
    );
    let updates = runs.updates(&run, "").await;
    assert_eq!(updates.last().unwrap()["message"], "put in order");
}

#[tokio::test]
async fn a_run_that_is_terminated_ends_at_once_and_cleans_nothing_up() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let request = runs.post(&run, "/actions/terminate", &json!({ "reason": "not needed" }));
    let answer = request.await.expect_status(200);
    let message = answer.body["message"].as_str().unwrap();
    assert!(
        message.contains(&run.run_id) && message.contains("terminate"),
        "{message}"
    );

    let detail = runs.detail(&run).await;
    assert_eq!(detail["status"], "TERMINATED", "{detail}");
    assert_eq!(detail["error"]["message"], "not needed");
    assert_eq!(detail["error"]["type"], "Terminated");
    let events = runs.events(&run).await;
    let expected = [
        "WORKFLOW_EXECUTION_STARTED",
        "TIMER_STARTED",
        "WORKFLOW_EXECUTION_TERMINATED",
    ];
    assert_eq!(event_types(&events), expected);
    assert_eq!(events[2]["workflow"]["reason"], "not needed");
    assert_eq!(runs.updates(&run, "").await.len(), 1);
}

#[tokio::test]
async fn the_body_of_an_action_may_be_left_out() {
    let runs = Runs::start().await;
    for (action, status, name) in [
        ("cancel", "CANCELED", "WORKFLOW_EXECUTION_CANCEL_REQUESTED"),
        ("terminate", "TERMINATED", "WORKFLOW_EXECUTION_TERMINATED"),
    ] {
        let rest = format!("/actions/{action}");
        for body in 0..5 {
            let run = runs.approval("Invoice").await;
            let nothing = runs.post_nothing(&run, &rest);
            let request = match body {
                0 => nothing,
                1 => nothing.header("content-type", "application/json"),
                2 => runs.post(&run, &rest, &json!({})),
                3 => runs.post(&run, &rest, &json!({ "reason": null })),
                _ => runs.post(&run, &rest, &json!({ "reason": "" })),
            };
            request.await.expect_status(200);
            runs.wait_for_status(&run, status).await;
            let events = runs.events(&run).await;
            let attributes = &event(&events, name)["workflow"];
            assert_eq!(
                *attributes,
                json!({ "identity": "user:developer" }),
                "{action} with body {body}"
            );
        }
    }
    let run = runs.approval("Invoice").await;
    for (body, message) in [(json!({ "reason": 7 }), "reason"), (json!([]), "")] {
        let refused = runs.post(&run, "/actions/cancel", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(message), "{}", refused.text());
    }
    assert_eq!(runs.detail(&run).await["status"], "RUNNING");
}

#[tokio::test]
async fn a_run_is_asked_once_to_stop_and_not_at_all_after_its_end() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let requests = (0..4).map(|_| runs.post_nothing(&run, "/actions/cancel").send());
    let answers = join_all(requests).await;
    let statuses: BTreeSet<u16> = answers.into_iter().map(|answer| answer.unwrap().status).collect();
    assert!(statuses.contains(&200), "{statuses:?}");
    assert!(statuses.is_subset(&BTreeSet::from([200, 409])), "{statuses:?}");
    runs.wait_for_status(&run, "CANCELED").await;
    let events = runs.events(&run).await;
    let is_request = |name: &&str| *name == "WORKFLOW_EXECUTION_CANCEL_REQUESTED";
    assert_eq!(
        event_types(&events).into_iter().filter(is_request).count(),
        1,
        "{events:?}"
    );

    for rest in ["/actions/cancel", "/actions/terminate", "/signal/Approve"] {
        let refused = runs.post(&run, rest, &json!({ "message": "late" })).await;
        let refused = refused.expect_error(409, "conflict");
        assert!(refused.message().contains("CANCELED"), "{}", refused.text());
    }
    assert_eq!(runs.events(&run).await, events);
}

#[tokio::test]
async fn unknown_action_on_a_run_is_refused() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    for action in ["pause", "Cancel", "reset", "%20"] {
        let refused = runs.post_nothing(&run, &format!("/actions/{action}")).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(
            refused.message().contains("cancel and terminate"),
            "{}",
            refused.text()
        );
    }
    assert_eq!(runs.detail(&run).await["status"], "RUNNING");
}

/// Every request with a run in its path.
const REQUESTS: [(&str, &str); 8] = [
    ("GET", ""),
    ("GET", "?include_history=true"),
    ("GET", "/updates"),
    ("GET", "/query/__state"),
    ("GET", "/stream"),
    ("POST", "/actions/cancel"),
    ("POST", "/actions/terminate"),
    ("POST", "/signal/Approve"),
];

#[tokio::test]
async fn run_of_another_project_answers_as_a_missing_one() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    let other_id = Run {
        workflow_id: runs.approval("Another").await.workflow_id,
        ..run.clone()
    };
    let other_run = Run {
        run_id: Run::missing().run_id,
        ..run.clone()
    };
    let [developer, other_project, other_account] =
        [Persona::Developer, Persona::OtherProject, Persona::OtherAccount].map(|who| runs.scope.token(who));
    for (method, rest) in REQUESTS.into_iter().filter(|(_, rest)| runs.service.has(rest)) {
        let method: Method = method.parse().unwrap();
        let ask = async |run: &Run, token: &str| -> Value {
            let request = runs.service.request(method.clone(), &run.path(rest));
            let request = request.token(token);
            let request = match method == Method::POST {
                true => request.json(&json!({ "message": "m" })),
                false => request,
            };
            let refused = request.await.expect_error(404, "not_found");
            let mut body = refused.body.clone();
            body["request_id"] = Value::Null;
            let text = body.to_string().replace(&run.run_id, "<run>");
            serde_json::from_str(&text).unwrap()
        };
        let unknown = ask(&other_run, &developer).await;
        assert_eq!(ask(&other_id, &developer).await, unknown, "{method} {rest}");
        assert_eq!(ask(&run, &other_project).await, unknown, "{method} {rest}");
        assert_eq!(ask(&run, &other_account).await, unknown, "{method} {rest}");
    }
    let path = format!("/workflows/runs/{}/updates", run.run_id);
    let refused = runs.service.post(&other_project, &path, &json!({})).await;
    refused.expect_error(404, "not_found");
    assert_eq!(runs.detail(&run).await["status"], "RUNNING");
    assert_eq!(runs.updates(&run, "").await.len(), 1);
}

#[tokio::test]
async fn what_changes_a_run_leaves_an_audit_record_and_what_reads_does_not() {
    let runs = Runs::start().await;
    let run = runs.approval("Invoice").await;
    runs.signal(&run, "Note", &json!({ "message": "m" })).await;
    runs.update(&run, &json!({})).await.expect_status(200);
    runs.get(&run, "/query/__state").await.expect_status(200);
    runs.list(&json!({})).await.expect_status(200);
    runs.act(&run, "cancel").await;
    runs.wait_for_status(&run, "CANCELED").await;
    runs.post_nothing(&run, "/actions/terminate")
        .await
        .expect_status(409);
    let admin = runs.scope.token(Persona::AccountAdmin);
    let path = format!("/audit-trail?resourceId={}", run.run_id);
    let page = runs.service.get(&admin, &path).await.expect_status(200).body;
    let records = page["events"].as_array().unwrap();
    let actual: Vec<_> = records
        .iter()
        .rev()
        .map(|record| {
            assert_eq!(record["resource_type"], "workflow", "{record}");
            let what = (&record["action"], &record["status"], &record["principal_user_id"]);
            (
                what.0.as_str().unwrap(),
                what.1.as_u64().unwrap(),
                what.2.as_str(),
            )
        })
        .collect();
    let developer = Some("developer");
    let expected = [
        ("create", 200, None),
        ("update", 200, developer),
        ("update", 200, developer),
        ("update", 200, developer),
        ("update", 409, developer),
    ];
    assert_eq!(actual, expected);
}
