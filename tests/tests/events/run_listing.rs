//! Tests listings that have few runs or deliveries among thousands of others.

use std::collections::BTreeSet;
use std::time::Instant;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::Events;
use tests::runs::{PAUSE, WITHIN};

/// Runs that do not match, all newer than those that do.
const OTHERS: usize = 2_100;
const AT_ONCE: usize = 8;

/// Subscribes a workflow that waits for a signal to an action.
async fn subscribe(events: &Events, action: &str) -> Value {
    let body = json!({
        "name": format!("On {action}"), "run_as_role": "executor",
        "filter": { "event_category": ["external"], "action": [action] },
        "target": { "type": "workflow", "endpoint": "Approval", "workflow_class": "demo", "vars": {} },
    });
    events.subscribe(&body).await["id"].clone()
}

async fn page(events: &Events, body: &Value) -> Value {
    let page = events.post(&events.token, "/workflows/runs", body).await;
    let page = page.expect_status(200).body;
    assert_eq!(page["has_more"], page["next_page_token"].is_string(), "{page}");
    page
}

/// Returns the ids of all runs of a listing, and the sizes of its pages.
async fn pages(events: &Events, selection: &Value) -> (Vec<String>, Vec<usize>) {
    let (mut ids, mut sizes, mut body) = (Vec::new(), Vec::new(), selection.clone());
    loop {
        let page = page(events, &body).await;
        let runs = page["runs"].as_array().unwrap();
        ids.extend(runs.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()));
        sizes.push(runs.len());
        if page["has_more"] == false {
            return (ids, sizes);
        }
        body["next_page_token"] = page["next_page_token"].clone();
    }
}

#[tokio::test]
async fn page_among_thousands_of_other_runs_is_full_unless_the_listing_ends_locally() {
    let events = Events::start_local().await;
    let channel = events.plain_channel().await;
    let (rare, common) = (
        subscribe(&events, "rare").await,
        subscribe(&events, "common").await,
    );
    let mut expected = Vec::new();
    for _ in 0..3 {
        let event = events.event(&channel, &json!({ "action": "rare" })).await;
        let delivery = events.delivery_of(&event, &["running"]).await;
        expected.insert(0, delivery["workflow_run_id"].as_str().unwrap().to_owned());
    }
    for first in (0..OTHERS).step_by(AT_ONCE) {
        let body = json!({ "action": "common" });
        let sends = (first..OTHERS.min(first + AT_ONCE)).map(|_| events.event(&channel, &body));
        join_all(sends).await;
    }
    let deadline = Instant::now() + WITHIN;
    let of_common = json!({ "rule_id": common, "page_size": 500 });
    loop {
        let (ids, sizes) = pages(&events, &of_common).await;
        if ids.len() == OTHERS {
            assert_eq!(sizes, [500, 500, 500, 500, 100]);
            assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), OTHERS);
            break;
        }
        assert!(
            Instant::now() < deadline,
            "{} of the runs after {WITHIN:?}",
            ids.len()
        );
        tokio::time::sleep(PAUSE).await;
    }
    for selection in [
        json!({ "rule_id": rare }),
        json!({ "rule_id": rare, "status": "RUNNING", "type": "Approval" }),
        json!({ "query": format!("RuleId = {} AND ExecutionStatus = 'Running'", rare.to_string().replace('"', "'")) }),
        json!({ "event_name": "rare" }),
        json!({ "search_term": "on RARE", "status": "RUNNING" }),
        json!({ "query": "EventName STARTS_WITH 'ra'" }),
    ] {
        let of_size = |size: usize| {
            let mut selection = selection.clone();
            selection["page_size"] = size.into();
            selection
        };
        for (size, sizes) in [(50, vec![3]), (3, vec![3]), (2, vec![2, 1]), (1, vec![1, 1, 1])] {
            let listed = pages(&events, &of_size(size)).await;
            assert_eq!(listed, (expected.clone(), sizes), "{selection}");
        }
    }
    for selection in [
        json!({ "status": "COMPLETED" }),
        json!({ "initiated_by": "user:none" }),
        json!({ "rule_id": rare, "status": "FAILED" }),
        json!({ "rule_id": "none", "type": "Approval" }),
    ] {
        let listed = page(&events, &selection).await;
        assert_eq!(listed, json!({ "runs": [], "has_more": false }), "{selection}");
    }
    for (limit, has_more) in [(3, false), (2, true)] {
        let search = json!({ "action": ["rare"], "limit": limit });
        let page = events
            .post(&events.token, "/events/deliveries/search", &search)
            .await
            .expect_status(200)
            .body;
        assert_eq!(page["deliveries"].as_array().unwrap().len(), limit, "{page}");
        assert_eq!(page["next_cursor"].is_string(), has_more, "{page}");
    }
}
