//! Tests the rotation of keys by the commands of `docs/runbook.md`, in the order of the page.

use std::fs;

use serde_json::json;
use tests::runs::Runs;
use tests::samples;

use super::stack::{RUNBOOK, bash, blocks};

#[tokio::test]
#[ignore = "it changes the stack of an emulator of its own: run `make test-operations`"]
async fn rotation_of_the_runbook_refuses_no_call_and_breaks_no_log() {
    let blocks = blocks(RUNBOOK, "## Rotation of keys", "## The sweeper");
    let [new_key, service, end_of_service, digests, sign] = blocks.as_slice() else {
        panic!("the rotation has {} blocks of commands: {blocks:?}", blocks.len());
    };
    let runs = Runs::start().await;
    let prompt = runs
        .service
        .post(&runs.token, "/prompts", &samples::prompt("kept"))
        .await;
    prompt.expect_status(201);
    let folder = tempfile::tempdir().unwrap();
    let step = |commands: &str| {
        let (token, folder) = (runs.token.clone(), folder.path().to_owned());
        let commands = format!("set -e\n{new_key}\n{commands}");
        std::thread::spawn(move || bash(&commands, &token, &folder))
    };

    let rotation = step(service);
    let mut begun = Vec::new();
    while !rotation.is_finished() {
        let call = json!({ "method": "GET", "path": ["prompts"], "body": null });
        let input = json!({ "calls": vec![call; 3] });
        let id = format!("rotation-{}", begun.len());
        begun.push(runs.begin_with("ApiCalls", &id, &input, &["--role", "reader"]).0);
    }
    rotation.join().unwrap();
    // A refused call fails for good; one that the emulator drops with a function it replaces is made again.
    for run in &begun {
        let detail = runs.wait_for_status(run, "COMPLETED").await;
        let results = detail["result"].as_array().unwrap();
        assert!(
            results.iter().all(|result| result.get("ok").is_some()),
            "{detail}"
        );
    }
    let keys = step(end_of_service).join().unwrap();
    assert_eq!(keys.matches("signs and verifies").count(), 1, "{keys}");
    assert_eq!(keys.matches("verifies").count(), 1, "{keys}");

    let signed = step(
        "export MILLRACE_DIGEST_KEY=$(output DigestKeyArns)\nmillrace ops --deployed audit archive --sign --all-logs",
    );
    signed.join().unwrap();
    let verified = step(&format!("{digests}\n{sign}")).join().unwrap();
    assert!(verified.contains("under 2 digest(s)"), "{verified}");
    let keys = fs::read_to_string(folder.path().join("digest-keys.pem")).unwrap();
    assert_eq!(keys.matches("BEGIN PUBLIC KEY").count(), 2, "{keys}");
    let run = runs.begin("ApiCalls", &json!({ "calls": [] }));
    runs.wait_for_status(&run, "COMPLETED").await;
}
