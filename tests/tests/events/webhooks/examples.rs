//! Tests that receivers get the example events of the API reference, whose actions `docs/webhooks.md` names,
//! and that the steps of the page start a run. `UPDATE_EXAMPLES=1` writes received events into the examples.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tests::Events;
use tests::examples::Names;
use tests::guide::{blocks, page, run};

const EXAMPLES: &str = "../infra/local/src/reference/events";

/// Returns the example events by file name.
fn examples() -> BTreeMap<String, (PathBuf, String)> {
    let files = fs::read_dir(EXAMPLES).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files
        .map(|path| (name(&path), (path.clone(), fs::read_to_string(&path).unwrap())))
        .collect()
}

/// Formats an envelope with its fields in the contract's order, which `example` has.
fn pretty(envelope: &Value, example: &str) -> String {
    let mut lines = Vec::new();
    let fields = example
        .lines()
        .filter_map(|line| line.strip_prefix("  \"")?.split_once("\":"));
    for (name, _) in fields {
        let value = serde_json::to_string_pretty(&envelope[name]).unwrap();
        lines.push(format!("  \"{name}\": {}", value.replace('\n', "\n  ")));
    }
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

#[tokio::test]
async fn every_example_of_an_event_is_what_a_receiver_gets() {
    let events = Events::start().await;
    let mut body = events.webhook_body("/guide");
    body["filter"] = json!({ "event_category": ["*"] });
    events.subscribe(&body).await;
    let mut names = Names::default();
    names.bind(&events.scope.account, "acme");
    names.bind(&events.scope.project, "demo");
    let examples = examples();
    let envelope = |name: &str| serde_json::from_str::<Value>(&examples[name].1).unwrap();

    let channel = events.channel(&json!({ "name": "Shop", "source": "shop" })).await;
    let external = envelope("external_received");
    events.event(&channel, &external["details"]["payload"]).await;
    let start = |name: &str, input: Value| {
        let id = envelope(name)["details"]["workflow_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let started = events.scope.ops_json(&[
            "run",
            "start",
            "Approval",
            "--id",
            &id,
            "--input",
            &input.to_string(),
        ]);
        format!("/workflows/runs/{id}/{}", started["run_id"].as_str().unwrap())
    };
    start("workflow_started", json!({}));
    start("workflow_failed", json!({ "timeout_seconds": "soon" }));
    for (name, place, body) in [
        (
            "workflow_completed",
            "signal/Approve",
            json!({ "message": "yes" }),
        ),
        ("workflow_canceled", "actions/cancel", json!({})),
        (
            "workflow_terminated",
            "actions/terminate",
            json!({ "reason": "The order was withdrawn." }),
        ),
    ] {
        let run = start(name, json!({}));
        events
            .post(&events.token, &format!("{run}/{place}"), &body)
            .await
            .expect_status(200);
    }
    for (name, (_, text)) in &examples {
        if name.starts_with("workflow_") || name.starts_with("external_") {
            continue;
        }
        let file = events.folder().join(format!("{name}.json"));
        let value = names.actual(&serde_json::from_str(text).unwrap());
        fs::write(&file, value.to_string()).unwrap();
        events
            .scope
            .ops(&["event", "publish", "--file", &file.to_string_lossy()])
            .expect_success();
    }
    // Each ended run has two events; each other example has one.
    let received = events.received("/guide", examples.len() + 4).await;
    let (mut faults, page) = (Vec::new(), page());
    for (name, (path, text)) in &examples {
        let example = envelope(name);
        let is_it = |event: &&Value| {
            let is_same = |field: &str| event[field] == example[field];
            let (own, theirs) = (
                &event["details"]["workflow_id"],
                &example["details"]["workflow_id"],
            );
            is_same("event_category")
                && is_same("action")
                && (!name.starts_with("workflow_") || own == theirs)
        };
        let bodies: Vec<_> = received
            .iter()
            .map(|received| received.json()["event"].clone())
            .collect();
        let event = bodies
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("nothing came for {name}"));
        let like = pretty(&names.like("", Some(&example), event), text);
        if tests::variable("UPDATE_EXAMPLES").is_some() {
            fs::write(path, &like).unwrap();
        } else if like != *text {
            faults.push(format!("{name} says {text}and a receiver gets {like}"));
        } else if !page.contains(&format!("`{}`", example["action"].as_str().unwrap())) {
            faults.push(format!("the page lacks the action of {name}"));
        }
    }
    assert!(
        faults.is_empty(),
        "{}\nUPDATE_EXAMPLES=1 writes what a receiver gets.",
        faults.join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_the_page_start_a_run_once() {
    let events = Events::start().await;
    let steps = blocks(&page(), "sh");
    let variables = |channel: &str, token: &str| {
        vec![
            ("API", events.base_url().to_owned()),
            ("TOKEN", events.token.clone()),
            ("INGEST", events.service.ingest_url().to_owned()),
            ("ACCOUNT", events.scope.account.clone()),
            ("PROJECT", events.scope.project.clone()),
            ("CHANNEL", channel.to_owned()),
            ("INGEST_TOKEN", token.to_owned()),
        ]
    };
    let output = run(
        Command::new("bash")
            .args(["-euc", &steps[0]])
            .envs(variables("", "")),
        "",
    );
    let mut answers = serde_json::Deserializer::from_str(&output).into_iter::<Value>();
    let channel = answers.next().unwrap().unwrap();
    let (id, token) = (
        channel["id"].as_str().unwrap(),
        channel["ingest_token"].as_str().unwrap(),
    );
    for _ in 0..2 {
        let output = run(
            Command::new("bash")
                .args(["-euc", &steps[1]])
                .envs(variables(id, token)),
            "",
        );
        let event: Value = serde_json::from_str(&output).unwrap();
        let delivery = events
            .delivery_of(event["event_id"].as_str().unwrap(), &["running"])
            .await;
        assert_eq!(delivery["workflow_id"], "A-100");
    }
    let answer = events.post(&events.token, "/workflows/runs", &json!({})).await;
    let runs = &answer.expect_status(200).body["runs"];
    assert_eq!(runs.as_array().unwrap().len(), 1);
    assert_eq!(
        (&runs[0]["workflow_id"], &runs[0]["type"]),
        (&json!("A-100"), &json!("Approval"))
    );
}
