//! Tests that the service behaves as `docs/event-log.md` shows.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tests::guide::{blocks, run};
use tests::runs::{PAUSE, WITHIN};
use tests::{Events, binary};

const PAGE: &str = "../docs/event-log.md";

fn page() -> String {
    fs::read_to_string(PAGE).unwrap()
}

/// Returns the fenced block of a language that contains this text.
fn block(language: &str, text: &str) -> String {
    let mut blocks = blocks(&page(), language).into_iter();
    blocks.find(|block| block.contains(text)).unwrap()
}

#[tokio::test]
async fn a_processed_document_is_published_and_counted_locally() {
    let events = Events::start_local().await;
    let scope = &events.scope;
    let commands = block("bash", "ops event publish")
        .replace("\"acme\"", &format!("\"{}\"", scope.account))
        .replace("\"demo\"", &format!("\"{}\"", scope.project));
    let data = events.data_dir();
    let script = format!(
        "set -e\nops() {{ '{}' ops --data-dir '{}' \"$@\"; }}\n{}\n{commands}",
        binary("millrace").display(),
        data.display(),
        "call() { curl -sS --noproxy '*' -H \"Authorization: Bearer $TOKEN\" -H 'content-type: application/json' \"$@\"; echo; }"
    );
    let expected: Value = serde_json::from_str(&block("json", "details.pipeline")).unwrap();
    let began = std::time::Instant::now();
    loop {
        let mut bash = Command::new("bash");
        bash.current_dir(events.folder()).args(["-c", &script]);
        bash.env("API", events.base_url()).env("TOKEN", &events.token);
        let stdout = run(&mut bash, "");
        let answer: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
        if answer == expected {
            return;
        }
        // The bus may take longer than the page waits.
        assert!(began.elapsed() < WITHIN, "{answer}");
        tokio::time::sleep(PAUSE).await;
    }
}

#[test]
fn the_page_shows_the_sample_and_a_process_that_is_sound() {
    let sample = fs::read_to_string("../infra/samples/src/lib.rs").unwrap();
    assert!(sample.contains(&block("rust", "PUBLISH")));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("process.yaml");
    fs::write(&file, block("yaml", "document_processed")).unwrap();
    let data = folder.path().join("data");
    let mut millrace = tests::Process::start(&data, &folder.path().join("log"), &[]);
    let loaded = tests::run(
        tests::OPS,
        &[
            "--data-dir",
            data.to_str().unwrap(),
            "process",
            "load",
            file.to_str().unwrap(),
        ],
        &[],
    );
    loaded.expect_success();
    millrace.stop();
}
