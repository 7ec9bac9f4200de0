//! Tests listing workflow runs page by page.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tests::{Persona, Run, Runs, unique};

#[tokio::test]
async fn a_token_goes_with_its_listing_and_with_no_other() {
    let runs = Runs::start().await;
    runs.begin_many("Steps", &json!({ "steps": 0 }), 3);
    let first = runs.list(&json!({ "page_size": 1, "type": "Steps" })).await;
    let first = first.expect_status(200).body;
    assert_eq!(first["has_more"], true);
    let token = first["next_page_token"].as_str().unwrap();
    assert!(BASE64.decode(token).is_ok(), "{token} is not base64");
    let other_size = json!({ "page_size": 2, "type": "Steps", "next_page_token": token });
    let rest = runs.list(&other_size).await.expect_status(200);
    assert_eq!(rest.body["runs"].as_array().unwrap().len(), 2);
    assert_eq!(rest.body["has_more"], false);

    let mut altered = token.to_owned();
    let last = altered.pop().unwrap();
    altered.push(if last == 'A' { 'E' } else { 'A' });
    for (body, what) in [
        (json!({ "next_page_token": token }), "no filter"),
        (
            json!({ "next_page_token": token, "type": "Approval" }),
            "another type",
        ),
        (
            json!({ "next_page_token": token, "type": "Steps", "status": "RUNNING" }),
            "a further filter",
        ),
        (
            json!({ "next_page_token": token, "type": "Steps", "query": "WorkflowId != ''" }),
            "a query",
        ),
        (
            json!({ "next_page_token": token[..token.len() - 4], "type": "Steps" }),
            "truncated",
        ),
        (json!({ "next_page_token": altered, "type": "Steps" }), "altered"),
        (
            json!({ "next_page_token": format!("{token}AAAA"), "type": "Steps" }),
            "longer",
        ),
    ] {
        let refused = runs.list(&body).await;
        assert_eq!(refused.status, 400, "{what}: {}", refused.text());
        refused.check_error();
    }
    let body = json!({ "next_page_token": token, "type": "Steps" });
    let elsewhere = runs
        .service
        .post(&runs.token, "/workflows/conversations", &body)
        .await;
    elsewhere.expect_error(400, "invalid_request");
    let other = runs.scope.token(Persona::OtherProject);
    let refused = runs.service.post(&other, "/workflows/runs", &body).await;
    refused.expect_error(400, "invalid_request");
}

#[tokio::test]
async fn pages_have_every_run_once_while_new_ones_begin() {
    let runs = Runs::start().await;
    let input = json!({ "steps": 0 });
    let begun = runs.begin_many("Steps", &input, 120);
    let starter = runs.starter();
    let more = std::thread::spawn(move || {
        for _ in 0..20 {
            starter.begin_as("Steps", &unique("later"), &json!({ "steps": 0 }));
        }
    });
    let mut items = Vec::new();
    let mut body = json!({ "page_size": 7 });
    loop {
        let page = runs.list(&body).await.expect_status(200).body;
        let of_page = page["runs"].as_array().unwrap();
        assert!(of_page.len() <= 7, "{page}");
        items.extend(of_page.iter().cloned());
        assert_eq!(page["has_more"], page["next_page_token"].is_string(), "{page}");
        if page["has_more"] == false {
            break;
        }
        assert_eq!(of_page.len(), 7, "{page}");
        body["next_page_token"] = page["next_page_token"].clone();
    }
    more.join().unwrap();
    let place = |run: &Value| {
        (
            run["started_at"].as_str().unwrap().to_owned(),
            run["run_id"].clone().to_string(),
        )
    };
    assert!(
        items.iter().map(place).is_sorted_by(|one, next| one > next),
        "not newest first, or twice"
    );
    let ids: BTreeSet<_> = items.iter().map(|run| run["run_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), items.len());
    let missing: Vec<_> = begun
        .iter()
        .filter(|run| !ids.contains(run.run_id.as_str()))
        .collect();
    assert_eq!(missing, Vec::<&Run>::new());

    let by_type = runs
        .workflow_ids(&json!({ "type": "Steps", "page_size": 500 }))
        .await;
    assert_eq!(by_type.len(), 140);
}
