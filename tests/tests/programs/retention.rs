//! Tests that ended records are removed after their retention, as days and years pass between the starts of a
//! service.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tests::runs::{PAUSE, WITHIN};
use tests::{Events, Run, Runs, faults};

/// Restarts a service with a clock that is `days` ahead of the machine's.
fn restart_ahead(service: &mut tests::Service, days: i64) {
    let variables = faults::ahead_by(24 * days);
    let variables = [0, 1, 2].map(|place: usize| (variables[place].0.as_str(), variables[place].1.as_str()));
    service.restart_with(&variables);
}

/// Returns a token that is valid for three years.
fn lasting_token(scope: &tests::Scope) -> String {
    scope.token_with(&["--roles", "developer,project_admin", "--lifetime", "94608000"])
}

/// Waits until a condition is true.
async fn until<F: Future<Output = bool>>(what: &str, is_so: impl Fn() -> F) {
    let deadline = Instant::now() + WITHIN;
    while !is_so().await {
        assert!(Instant::now() < deadline, "not so after {WITHIN:?}: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

fn has_file_of(folder: &Path, kind: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        let is_file = path.is_file() && path.to_string_lossy().contains(&format!("/{kind}/"));
        is_file || has_file_of(&path, kind)
    })
}

#[tokio::test]
async fn ended_records_go_after_their_time_and_open_ones_stay_locally() {
    let mut runs = Runs::start_local().await;
    runs.token = lasting_token(&runs.scope);
    let ended = runs.begin("Steps", &json!({ "steps": 2 }));
    // Its history exceeds its record, so it is removed in steps.
    let long = runs.begin("Steps", &json!({ "steps": 40 }));
    let open = runs.begin("Approval", &json!({ "timeout_seconds": 200 * 24 * 3_600 }));
    for run in [&ended, &long] {
        runs.wait_for_status(run, "COMPLETED").await;
    }
    let ids = |runs: &[&Run]| runs.iter().map(|run| run.workflow_id.clone()).collect::<Vec<_>>();
    let run_ids = runs.workflow_ids(&json!({})).await;
    assert_eq!(run_ids.len(), 3, "{run_ids:?}");

    // The default is 90 days.
    restart_ahead(&mut runs.service, 89);
    assert_eq!(runs.workflow_ids(&json!({})).await, run_ids);
    assert_eq!(
        runs.events(&long).await.len(),
        runs.tasks(&long).await.len() * 3 + 2
    );

    restart_ahead(&mut runs.service, 91);
    let runs = &runs;
    until("both runs are gone", || async {
        runs.workflow_ids(&json!({})).await == ids(&[&open])
    })
    .await;
    for run in [&ended, &long] {
        runs.get(run, "").await.expect_error(404, "not_found");
        // Its workflow id has no run, and can be used again.
        runs.get(run, "/updates").await.expect_status(404);
    }
    let (again, is_new) = runs.begin_as("Steps", &ended.workflow_id, &json!({ "steps": 1 }));
    assert!(is_new && again.run_id != ended.run_id);

    assert_eq!(runs.detail(&open).await["status"], "RUNNING");
    runs.signal(&open, "Approve", &json!({ "message": "late" })).await;
    let detail = runs.wait_for_status(&open, "COMPLETED").await;
    assert_eq!(
        detail["result"],
        json!({ "approved": true, "message": "late" }),
        "{detail}"
    );
    runs.scope.check().await;
}

#[tokio::test]
async fn deliveries_go_after_their_time_and_the_log_keeps_their_events_locally() {
    let mut events = Events::start_local().await;
    events.token = lasting_token(&events.scope);
    events.webhook("/orders").await;
    let channel = events.plain_channel().await;
    let first = events.event(&channel, &json!({ "number": 1 })).await;
    events.delivery_of(&first, &["succeeded"]).await;

    // Lets the first pass over the log run.
    restart_ahead(&mut events.service, 1);
    let data = events.service.data_dir();
    until("the event is archived", || async { has_file_of(&data, "events") }).await;
    let channel_url = channel.url.rsplit('/').next().unwrap().to_owned();
    let channel = tests::events::Channel {
        url: events.ingest_url(&channel_url),
        ..channel
    };
    let second = events.event(&channel, &json!({ "number": 2 })).await;
    events.delivery_of(&second, &["succeeded"]).await;

    restart_ahead(&mut events.service, 90);
    let events = &events;
    let event_ids = || async {
        let deliveries = events.deliveries(&json!({ "limit": 100 })).await;
        deliveries
            .iter()
            .map(|delivery| delivery["event_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    until("the first delivery is gone", || async {
        event_ids().await == [second.clone()]
    })
    .await;
    let search = json!({ "event_id": first });
    assert_eq!(events.deliveries(&search).await, Vec::<Value>::new());

    // The log still has the creation of the channel and of the subscription.
    let trail = events.get(&events.token, "/audit-trail").await;
    let trail = trail.expect_status(200).body;
    assert_eq!(trail["events"].as_array().unwrap().len(), 2, "{trail}");
    events.scope.check().await;
}

/// A machine whose clock was a day ahead is set right.
#[tokio::test]
async fn a_clock_that_goes_back_between_two_starts_loses_nothing_locally() {
    let mut runs = Runs::start_local().await;
    restart_ahead(&mut runs.service, 1);
    runs.token = lasting_token(&runs.scope);
    let ended = runs.begin("Steps", &json!({ "steps": 2 }));
    runs.wait_for_status(&ended, "COMPLETED").await;
    let open = runs.approval("A horse").await;
    runs.service.restart_with(&[]);

    let later = runs.begin("Steps", &json!({ "steps": 2 }));
    runs.wait_for_status(&later, "COMPLETED").await;
    let mut run_ids = runs.workflow_ids(&json!({})).await;
    run_ids.sort();
    let mut expected = [&ended, &open, &later].map(|run| run.workflow_id.clone());
    expected.sort();
    assert_eq!(run_ids, expected);
    assert_eq!(runs.detail(&ended).await["status"], "COMPLETED");
    runs.signal(&open, "Approve", &json!({ "message": "yes" })).await;
    let detail = runs.wait_for_status(&open, "COMPLETED").await;
    assert_eq!(detail["result"]["approved"], true, "{detail}");
    // No event of a run is older than the previous one.
    let events = runs.events(&open).await;
    let times = events.iter().map(|event| event["event_time"].as_str().unwrap());
    assert!(times.is_sorted(), "{events:?}");
    runs.scope.check().await;
}
