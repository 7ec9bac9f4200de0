//! Tests the listing of workflow runs: the fields of each run, and the filters.

use serde_json::{Value, json};
use tests::runs::is_time;
use tests::{Method, Persona, Run, Runs};

/// Runs of both types and most statuses, oldest first. Their names are their workflow ids.
struct Listed {
    runs: Runs,
    all: Vec<Run>,
}

impl Listed {
    async fn start() -> Self {
        let runs = Runs::start().await;
        let about = |document: &str| json!({ "title": "Invoice", "document_id": document });
        let mut all = Vec::new();
        for (name, workflow_type, input, status) in [
            ("done-1", "Steps", json!({ "steps": 1 }), "COMPLETED"),
            ("done-2", "Steps", json!({ "steps": 0 }), "COMPLETED"),
            ("broken", "Steps", json!({ "steps": "many" }), "FAILED"),
            ("open-1", "Approval", about("doc-1"), "RUNNING"),
            ("open-2", "Approval", about("doc-2"), "RUNNING"),
            ("stopped", "Approval", about("doc-1"), "CANCELED"),
            ("ended", "Approval", about("doc-3"), "TERMINATED"),
        ] {
            let (run, _) = runs.begin_as(workflow_type, name, &input);
            match status {
                "CANCELED" => runs.act(&run, "cancel").await,
                "TERMINATED" => runs.act(&run, "terminate").await,
                _ => {}
            }
            runs.wait_for_status(&run, status).await;
            all.push(run);
        }
        Self { runs, all }
    }

    async fn expect(&self, selection: &Value, names: &[&str]) {
        assert_eq!(self.runs.workflow_ids(selection).await, names, "{selection}");
    }

    async fn started_at(&self, place: usize) -> Value {
        self.runs.detail(&self.all[place]).await["started_at"].clone()
    }
}

const NEWEST_FIRST: [&str; 7] = [
    "ended", "stopped", "open-2", "open-1", "broken", "done-2", "done-1",
];

#[tokio::test]
async fn a_listing_has_the_newest_run_first_and_each_with_its_fields() {
    let listed = Listed::start().await;
    let page = listed.runs.list(&json!({})).await.expect_status(200).body;
    assert_eq!(page["has_more"], false);
    assert!(page.get("next_page_token").is_none(), "{page}");
    let runs = page["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 7);
    for (run, name) in runs.iter().zip(NEWEST_FIRST) {
        assert_eq!(run["workflow_id"], name);
        let of_it = listed.all.iter().find(|run| run.workflow_id == name).unwrap();
        let detail = listed.runs.detail(of_it).await;
        for field in [
            "run_id",
            "status",
            "type",
            "started_at",
            "closed_at",
            "execution_duration",
        ] {
            assert_eq!(run.get(field), detail.get(field), "{run}");
        }
        assert_eq!(run["service_workflow_type"], run["type"]);
        assert_eq!(run["visibility"], "project");
        assert!(is_time(&run["started_at"]), "{run}");
        assert!(run["initiated_by"].is_string(), "{run}");
        assert_eq!(
            run.get("closed_at").is_none(),
            run["status"] == "RUNNING",
            "{run}"
        );
    }
}

#[tokio::test]
async fn every_filter_finds_its_runs_alone_and_together() {
    let listed = Listed::start().await;
    for (selection, names) in [
        (json!({ "status": "RUNNING" }), vec!["open-2", "open-1"]),
        (json!({ "status": "completed" }), vec!["done-2", "done-1"]),
        (
            json!({ "status": "Failed, canceled,TERMINATED" }),
            vec!["ended", "stopped", "broken"],
        ),
        (json!({ "status": "timed_out,continued_as_new" }), vec![]),
        (json!({ "status": "" }), NEWEST_FIRST.to_vec()),
        (json!({ "type": "Steps" }), vec!["broken", "done-2", "done-1"]),
        (json!({ "type": "steps" }), vec![]),
        (json!({ "document_id": "doc-1" }), vec!["stopped", "open-1"]),
        (json!({ "document_id": "doc-9" }), vec![]),
        (json!({ "event_name": "create" }), vec![]),
        (json!({ "rule_id": "rule" }), vec![]),
        (
            json!({ "search_term": "sTEp" }),
            vec!["broken", "done-2", "done-1"],
        ),
        (json!({ "search_term": "open-1" }), vec![]),
        (json!({ "initiated_by": "user:developer" }), vec![]),
        (
            json!({ "type": "Approval", "status": "running" }),
            vec!["open-2", "open-1"],
        ),
        (
            json!({ "type": "Steps", "status": "completed,failed" }),
            vec!["broken", "done-2", "done-1"],
        ),
        (
            json!({ "document_id": "doc-1", "status": "running" }),
            vec!["open-1"],
        ),
        (json!({ "document_id": "doc-1", "type": "Steps" }), vec![]),
        (
            json!({ "search_term": "approval", "query": "ExecutionStatus != 'RUNNING'", "document_id": "doc-3" }),
            vec!["ended"],
        ),
    ] {
        listed.expect(&selection, &names).await;
    }
    let of_open_2 = &listed.all[4].run_id;
    listed
        .expect(&json!({ "search_term": of_open_2 }), &["open-2"])
        .await;
    listed
        .expect(&json!({ "search_term": of_open_2.to_uppercase() }), &["open-2"])
        .await;
    listed
        .expect(&json!({ "search_term": of_open_2[3..] }), &["open-2"])
        .await;
    listed
        .expect(&json!({ "search_term": of_open_2, "type": "Steps" }), &[])
        .await;
}

#[tokio::test]
async fn start_and_end_bound_the_time_at_which_runs_began() {
    let listed = Listed::start().await;
    let (third, fifth) = (listed.started_at(2).await, listed.started_at(4).await);
    for (selection, names) in [
        (json!({ "start": third }), &NEWEST_FIRST[..5]),
        (json!({ "end": fifth }), &NEWEST_FIRST[2..]),
        (json!({ "start": third, "end": fifth }), &NEWEST_FIRST[2..5]),
        (
            json!({ "start": third, "end": fifth, "type": "Approval" }),
            &NEWEST_FIRST[2..4],
        ),
        (json!({ "start": third, "end": third }), &NEWEST_FIRST[4..5]),
        (json!({ "start": fifth, "end": third }), &[]),
        (json!({ "start": "2000-01-01T00:00:00Z" }), &NEWEST_FIRST),
        (json!({ "end": "2000-01-01T00:00:00+02:00" }), &[]),
    ] {
        listed.expect(&selection, names).await;
    }
    for bad in ["yesterday", "2026-02-30T00:00:00Z", "12"] {
        let refused = listed.runs.list(&json!({ "start": bad })).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("start"), "{}", refused.text());
    }
}

#[tokio::test]
async fn a_query_is_a_condition_in_the_filter_language() {
    let listed = Listed::start().await;
    let third = listed.started_at(2).await;
    let third = third.as_str().unwrap();
    let run_id = &listed.all[0].run_id;
    for (query, names) in [
        ("WorkflowId = 'open-1'", vec!["open-1"]),
        (
            "WorkflowId STARTS_WITH 'open' AND DocumentId = 'doc-2'",
            vec!["open-2"],
        ),
        ("ExecutionStatus = 'Running'", vec!["open-2", "open-1"]),
        (
            "ExecutionStatus IN ('FAILED', 'CANCELED')",
            vec!["stopped", "broken"],
        ),
        (
            "WorkflowType = 'Steps' AND NOT (ExecutionStatus = 'COMPLETED')",
            vec!["broken"],
        ),
        ("CloseTime IS NULL", vec!["open-2", "open-1"]),
        (
            "DocumentId IS NULL OR WorkflowId = \"ended\"",
            vec!["ended", "broken", "done-2", "done-1"],
        ),
        (
            "ExecutionDuration < '1h' AND WorkflowType != 'Steps'",
            vec!["ended", "stopped"],
        ),
        (
            "WorkflowId BETWEEN 'done-1' AND 'ended'",
            vec!["ended", "done-2", "done-1"],
        ),
        (&format!("RunId = '{run_id}'"), vec!["done-1"]),
        (&format!("StartTime < '{third}'"), vec!["done-2", "done-1"]),
        (
            &format!("StartTime <= '{third}' AND WorkflowId != 'done-1'"),
            vec!["broken", "done-2"],
        ),
        ("StartTime > '2100-01-01'", vec![]),
        ("RuleId = 'a' OR EventName = 'create'", vec![]),
        ("", NEWEST_FIRST.to_vec()),
    ] {
        listed.expect(&json!({ "query": query }), &names).await;
    }
    for (query, column) in [
        ("WorkflowId = ", "column 14"),
        ("Bogus = 'a'", "column 1"),
        ("ExecutionStatus = 'Broken'", "column 19"),
        ("(WorkflowId = 'a'", "column 18"),
        ("WorkflowId = 'a' ORDER BY StartTime", "column 18"),
    ] {
        let refused = listed.runs.list(&json!({ "query": query })).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(column), "{query}: {}", refused.text());
        assert_eq!(refused.body["line"], 1, "{query}");
        assert_eq!(format!("column {}", refused.body["column"]), column, "{query}");
    }
}

#[tokio::test]
async fn invalid_listing_is_refused() {
    let runs = Runs::start().await;
    for (field, values) in [
        ("status", json!(["done", "RUNNING,done", 7])),
        ("page_size", json!([0, 501, 10_000, "abc", -1, 1.5])),
        ("type", json!([7])),
        ("next_page_token", json!([7, "garbage", "AAAA"])),
    ] {
        for value in values.as_array().unwrap() {
            let refused = runs.list(&json!({ field: value })).await;
            let refused = refused.expect_error(400, "invalid_request");
            let names_field = refused.message().contains(field) || field == "next_page_token";
            assert!(names_field, "{value}: {}", refused.text());
        }
    }
    for size in [1, 500] {
        runs.list(&json!({ "page_size": size })).await.expect_status(200);
    }
}

#[tokio::test]
async fn the_body_may_be_empty_with_and_without_a_content_type() {
    let runs = Runs::start().await;
    runs.begin_as("Steps", "one", &json!({ "steps": 0 }));
    for path in ["/workflows/runs", "/workflows/runs/", "/workflows/conversations"] {
        let count = usize::from(!path.ends_with("conversations"));
        let empty = || runs.service.request(Method::POST, path).token(&runs.token);
        for request in [
            empty(),
            empty().header("content-type", "application/json"),
            empty().json(&json!({})),
        ] {
            let page = request.await.expect_status(200).body;
            assert_eq!(page["runs"].as_array().unwrap().len(), count, "{path}: {page}");
            assert_eq!(page["has_more"], false);
        }
    }
}

#[tokio::test]
async fn conversations_are_runs_of_agents_alone() {
    let runs = Runs::start().await;
    runs.begin_as("Steps", "one", &json!({ "steps": 0 }));
    for selection in [
        json!({}),
        json!({ "type": "Steps" }),
        json!({ "query": "WorkflowId = 'one'" }),
    ] {
        let page = runs
            .service
            .post(&runs.token, "/workflows/conversations", &selection)
            .await;
        assert_eq!(
            page.expect_status(200).body,
            json!({ "runs": [], "has_more": false })
        );
    }
    for selection in [
        json!({ "page_size": 0 }),
        json!({ "status": "done" }),
        json!({ "query": "a" }),
    ] {
        let refused = runs
            .service
            .post(&runs.token, "/workflows/conversations", &selection)
            .await;
        refused.expect_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn a_listing_shows_the_runs_of_the_project_alone() {
    let runs = Runs::start().await;
    runs.begin_as("Steps", "one", &json!({ "steps": 0 }));
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let page = runs
            .service
            .post(&runs.scope.token(persona), "/workflows/runs", &json!({}))
            .await;
        assert_eq!(page.expect_status(200).body["runs"], json!([]));
    }
}
