//! Tests document-processed events: published by a workflow run, by a process and by another service, and
//! counted.

use serde_json::{Value, json};
use tests::runs::{PAUSE, WITHIN};
use tests::{Events, unique};

/// Pairs of meters of the contract, with the quantities of [`details`].
const METERS: [(&str, &str, f64); 10] = [
    ("processing", "documents", 1.0),
    ("processing", "pages", 3.0),
    ("processing", "ocr_pages", 1.0),
    ("processing", "vision_pages", 0.0),
    ("extraction", "properties", 12.0),
    ("extraction", "citations", 11.0),
    ("verification", "digitally_verified", 9.0),
    ("verification", "ai_verified", 2.0),
    ("verification", "unverified", 1.0),
    ("review", "issues", 2.0),
];

fn details() -> Value {
    json!({
        "pipeline": "invoices", "page_count": 3, "ocr_page_count": 1, "vision_page_count": 0, "property_count": 12,
        "citation_count": 11, "review_issue_count": 2, "confidence": 0.94, "coverage_min": 0.88, "hardness": 0.2,
        "verification": { "total": 12, "digitally_verified": 9, "ai_verified": 2, "unverified": 1 },
        "escalated": false, "reviewed": true, "verdict": "needs_review", "verdict_reason": "An amount is missing.",
        "models_used": [{ "role": "extraction", "run_id": "r-1", "model": "m-1", "environment_id": "e-1", "provider": "p-1" }],
        "result_path": "results/invoice-7.json", "review_agent_run_id": "r-2",
    })
}

fn meters() -> Value {
    let meters = METERS.map(
        |(category, kind, quantity)| json!({ "category": category, "type": kind, "quantity": quantity }),
    );
    json!(meters)
}

/// Creates a project whose content events go to a receiver.
async fn project() -> Events {
    let events = Events::start().await;
    let mut body = events.webhook_body("/content");
    body["filter"] = json!({ "event_category": ["content"], "action": ["document_processed"] });
    events.subscribe(&body).await;
    events
}

#[expect(
    clippy::disallowed_methods,
    reason = "the service takes the events of the last days"
)]
fn now() -> String {
    jiff::Timestamp::now().to_string()
}

/// Compares the received event with the contract, except for the fields of the run. Returns the event.
async fn check_event(events: &Events, document: &str, source: &str, run: Option<&Value>) -> Value {
    let event = events.received("/content", 1).await.remove(0).json()["event"].clone();
    let mut expected = details();
    expected["schema_version"] = json!(1);
    if let Some(run) = run {
        for field in ["workflow_id", "workflow_run_id", "workflow_type"] {
            expected[field] = run[field].clone();
        }
    }
    assert_eq!(event["details"], expected, "{event}");
    assert_eq!(event["meters"], meters());
    let about = [
        "event_category",
        "action",
        "resource_type",
        "resource_id",
        "source",
    ]
    .map(|name| event[name].clone());
    assert_eq!(
        about,
        [
            "content",
            "document_processed",
            "content_object",
            document,
            source
        ]
    );
    assert_eq!(
        event["resource_data"],
        json!({ "metadata": { "type": "invoice" } })
    );
    let id = event["event_id"].as_str().unwrap();
    let delivery = events.delivery_of(id, &["succeeded"]).await;
    assert_eq!(delivery["resource_id"], document);
    check_counts(events).await;
    event
}

/// Asserts that one event counts once, with all of its meters.
async fn check_counts(events: &Events) {
    let mut metrics = vec![json!({ "id": "documents", "operation": "count" })];
    for (category, kind, _) in METERS {
        let id = format!("{category}_{kind}");
        metrics.push(
            json!({ "id": id, "operation": "sum_meter", "meterCategory": category, "meterType": kind }),
        );
    }
    let request = json!({
        "filter": { "actions": ["document_processed"], "details": [{ "field": "verdict", "values": ["needs_review"] }] },
        "groupBy": [{ "dimension": "details.pipeline" }],
        "metrics": metrics,
    });
    let mut sums = json!({ "documents": 1 });
    for (category, kind, quantity) in METERS {
        sums[format!("{category}_{kind}")] = json!(quantity);
    }
    let answer = events
        .post(&events.token, "/audit-trail/aggregate", &request)
        .await;
    let rows = &answer.expect_status(200).body["rows"];
    let row = &rows[0];
    assert_eq!(
        (
            rows.as_array().unwrap().len(),
            &row["dimensions"]["details.pipeline"]
        ),
        (1, &json!("invoices"))
    );
    for (name, sum) in sums.as_object().unwrap() {
        assert_eq!(row["metrics"][name].as_f64(), sum.as_f64(), "{name}: {rows}");
    }
}

async fn ended(events: &Events, path: &str) -> Value {
    let began = std::time::Instant::now();
    loop {
        let detail = events.get(&events.token, path).await.expect_status(200).body;
        if detail["status"] != "RUNNING" {
            return detail;
        }
        assert!(began.elapsed() < WITHIN, "{detail}");
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test]
async fn a_workflow_run_tells_of_a_document() {
    let events = project().await;
    let document = json!({
        "document_id": "invoice-7", "resource_data": { "metadata": { "type": "invoice" } }, "details": details(),
    });
    let id = unique("process-invoice");
    let started = events.scope.ops(&[
        "--json",
        "run",
        "start",
        "ProcessDocument",
        "--id",
        &id,
        "--input",
        &document.to_string(),
    ]);
    let started: Value = serde_json::from_str(&started.expect_success().stdout).unwrap();
    let run_id = started["run_id"].as_str().unwrap();
    let run = json!({ "workflow_id": id, "workflow_run_id": run_id, "workflow_type": "ProcessDocument" });
    let event = check_event(&events, "invoice-7", "workflow", Some(&run)).await;
    let detail = ended(&events, &format!("/workflows/runs/{id}/{run_id}")).await;
    assert_eq!(detail["result"], json!({ "event_id": event["event_id"] }));
}

#[tokio::test]
async fn a_process_tells_of_a_document() {
    let events = project().await;
    let event = json!({
        "source": "https://documents.example", "type": "content.document_processed", "subject": "${ .event.details.payload.document }",
        "resourcedata": { "metadata": { "type": "invoice" } }, "data": "${ .event.details.payload.found }",
    });
    let definition = json!({
        "document": { "dsl": "1.0.3", "namespace": "documents", "name": "invoices", "version": "1.0.0" },
        "do": [{ "tell": { "emit": { "event": { "with": event } } } }],
    });
    let subscription = json!({
        "name": "Documents", "run_as_role": "executor", "filter": { "event_category": ["external"] },
        "target": { "type": "process", "definition": definition },
    });
    events.subscribe(&subscription).await;
    let channel = events.plain_channel().await;
    let run_of = async |fields: Value| {
        let event = events
            .event(&channel, &json!({ "document": "invoice-8", "found": fields }))
            .await;
        let delivery = events
            .delivery_of(&event, &["running", "succeeded", "failed"])
            .await;
        let path = ["workflow_id", "workflow_run_id"].map(|name| delivery[name].as_str().unwrap());
        ended(&events, &format!("/workflows/runs/{}", path.join("/"))).await
    };
    let run = run_of(details()).await;
    assert_eq!(run["status"], "COMPLETED", "{run}");
    let run = json!({ "workflow_id": run["workflow_id"], "workflow_run_id": run["run_id"], "workflow_type": "Process" });
    let event = check_event(&events, "invoice-8", "process:documents/invoices", Some(&run)).await;
    // A misspelt field is an error of the process, and no event is published.
    let failed = run_of(json!({ "pageCount": 3 })).await;
    let error = "https://serverlessworkflow.io/spec/1.0.0/errors/validation";
    assert_eq!(
        (&failed["status"], &failed["error"]["type"]),
        (&json!("FAILED"), &json!(error)),
        "{failed}"
    );
    assert!(
        failed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("'pageCount'"),
        "{failed}"
    );
    let deliveries = events
        .deliveries(&json!({ "action": ["document_processed"] }))
        .await;
    assert_eq!(deliveries.len(), 1, "{deliveries:?}");
    assert_eq!(deliveries[0]["event_id"], event["event_id"]);
}

#[tokio::test]
async fn another_service_tells_of_a_document_once_for_its_event_id() {
    let events = project().await;
    let file = events.folder().join("event.json");
    let envelope = json!({
        "event_id": unique("documents"), "event_category": "content", "action": "document_processed",
        "resource_type": "content_object", "resource_id": "invoice-9", "account_id": events.scope.account,
        "project_id": events.scope.project, "timestamp": now(), "source": "documents",
        "resource_data": { "metadata": { "type": "invoice" } }, "details": details(), "meters": meters(),
    });
    let publish = |envelope: &Value| {
        std::fs::write(&file, envelope.to_string()).unwrap();
        events
            .scope
            .ops(&["event", "publish", "--file", file.to_str().unwrap()])
    };
    for _ in 0..3 {
        publish(&envelope).expect_success();
    }
    check_event(&events, "invoice-9", "documents", None).await;
    for (field, value, why) in [
        ("/details/page_count", json!(-1), "$.details.page_count"),
        ("/details/schema_version", json!(2), "schema_version"),
        ("/details/confidence", json!("high"), "$.details.confidence"),
        ("/meters/0/quantity", json!(-1), "quantity"),
        ("/resource_type", json!("document"), "resource_type"),
    ] {
        let mut wrong = envelope.clone();
        wrong["details"]["schema_version"] = json!(1);
        *wrong.pointer_mut(field).unwrap() = value;
        let refused = publish(&wrong).expect_refusal();
        assert!(refused.stderr.contains(why), "{field}: {}", refused.stderr);
    }
}
