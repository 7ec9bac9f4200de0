//! The sample of docs/workflow-types.md: that it does what the document says, and that the document shows it as it is.

#![cfg(test)]

mod echo;

use std::fs;
use std::time::Duration;

use serde_json::json;
use workflow::event::Event;
use workflow::status::RunStatus;
use workflow::testing::{TestRun, check_history};
use workflow::updates::{MAX_MESSAGE_CHARACTERS, MAX_UPDATES};
use workflow::{Context, Failure, Registry, limits};

use echo::echo;

const DOCUMENT: &str = "../../docs/workflow-types.md";

// docs: patch
async fn echo_with_check(context: Context, name: String) -> Result<String, Failure> {
    if context.patched("check-first") {
        context.activity::<()>("check", &name).await?;
    }
    echo(context, name).await
}
// docs: end

// docs: test
#[test]
fn what_is_said_comes_back() {
    let registry = echo::add(Registry::new());
    let outcome = TestRun::new(&registry, "Echo", "Ada")
        .mock("send", |text| Ok(json!(format!("{}!", text.as_str().unwrap()))))
        .query_at(Duration::from_secs(1), "State")
        .signal_at(Duration::from_secs(5), "Say", &json!({"message": "hello"}))
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(outcome.result, Some(json!("Ada said hello!")));
    assert_eq!(outcome.answers, [Ok(json!("waiting"))]);
    assert_eq!(outcome.updates[0].details, Some(json!("hello")));
}
// docs: end

#[test]
fn an_hour_is_not_waited_for() {
    let registry = echo::add(runs::registry());
    let outcome = TestRun::new(&registry, "Echo", "Ada").run().unwrap();
    assert_eq!(outcome.result, Some(json!("Ada said nothing")));
    assert_eq!(outcome.query("State").unwrap(), "sending");
}

#[test]
fn three_attempts_are_made() {
    let registry = echo::add(Registry::new());
    let run = TestRun::new(&registry, "Echo", "Ada").mock("send", |_| Err(Failure::new("Busy", "Later.")));
    let outcome = run.run().unwrap();
    assert_eq!(outcome.failure.unwrap().kind, "Busy");
    let took = outcome
        .history
        .last()
        .unwrap()
        .time
        .millis_since(outcome.history[0].time);
    assert_eq!(took, 3_600_000 + 1_000 + 2_000);
}

#[test]
fn a_patch_is_for_new_runs_and_leaves_the_old_ones_alone() {
    let patched = echo::add(Registry::new()).workflow("Echo", echo_with_check);
    let old = fs::read_to_string("tests/corpus/Echo-signal.json").unwrap();
    let old: Vec<Event> = serde_json::from_str(&old).unwrap();
    check_history(&patched, &old).unwrap();
    let new = TestRun::new(&patched, "Echo", "Ada")
        .mock("check", |_| Ok(json!(null)))
        .run()
        .unwrap();
    assert_eq!(new.status, RunStatus::Completed);
    assert_eq!(new.event_names()[1], "MARKER_RECORDED");
    assert!(check_history(&echo::add(Registry::new()), &new.history).is_err());
    // When no run is left that went the old way.
    let settled = echo::add(Registry::new()).workflow("Echo", |context: Context, name: String| async {
        context.deprecate_patch("check-first");
        context.activity::<()>("check", &name).await?;
        echo(context, name).await
    });
    check_history(&settled, &new.history).unwrap();
    assert!(check_history(&settled, &old).is_err());
    // A question that was forgotten further down does no harm.
    let halfway = echo::add(Registry::new()).workflow("Echo", |context: Context, name: String| async {
        context.deprecate_patch("check-first");
        echo_with_check(context, name).await
    });
    let newer = TestRun::new(&halfway, "Echo", "Ada").mock("check", |_| Ok(json!(null)));
    assert_eq!(newer.run().unwrap().status, RunStatus::Completed);
    check_history(&halfway, &new.history).unwrap();
    let newest = TestRun::new(&settled, "Echo", "Ada")
        .mock("check", |_| Ok(json!(null)))
        .run()
        .unwrap();
    assert!(!newest.event_names().contains(&"MARKER_RECORDED"));
}

/// The lines between a mark and the next end, without their common indentation.
fn region(file: &str, mark: &str) -> String {
    let text = fs::read_to_string(file).unwrap();
    let from = text.find(&format!("// docs: {mark}\n")).unwrap();
    let lines = text[from..].lines().skip(1);
    let lines: Vec<_> = lines.take_while(|line| line.trim() != "// docs: end").collect();
    let indented = lines.iter().filter(|line| !line.is_empty());
    let indentation = indented.map(|line| line.len() - line.trim_start().len()).min();
    let lines = lines
        .iter()
        .map(|line| line.get(indentation.unwrap()..).unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_document_shows_the_code_that_is_tested() {
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let blocks = document.split("```rust\n").skip(1);
    let blocks: Vec<_> = blocks
        .map(|block| block.split("\n```").next().unwrap().to_owned())
        .collect();
    let expected = [
        region("tests/echo/mod.rs", "type"),
        region("tests/sample.rs", "test"),
        region("tests/sample.rs", "patch"),
    ];
    assert_eq!(blocks, expected);
    assert!(expected[0].lines().count() < 40);
}

#[test]
fn the_document_tells_the_limits_as_they_are() {
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let mebibytes = |bytes: u64| bytes / 1_024 / 1_024;
    for stated in [
        format!("{} events", thousands(limits::MAX_EVENTS)),
        format!("logged from {} events", thousands(limits::WARN_EVENTS)),
        format!("{} MiB of history", mebibytes(limits::MAX_HISTORY_BYTES)),
        format!("{} signals", thousands(limits::MAX_SIGNALS)),
        format!("{} activities", thousands(limits::MAX_PENDING as u64)),
        format!(
            "{} MiB as JSON",
            mebibytes(workflow::payload::MAX_PAYLOAD_BYTES as u64)
        ),
        format!("{} seconds", workflow::turning::TURN_LIMIT.as_secs()),
        format!("{} things", thousands(workflow::turn::MAX_COMMANDS as u64)),
        format!("{} bytes", thousands(limits::MAX_WRITE_BYTES as u64)),
        format!("{} characters", thousands(MAX_MESSAGE_CHARACTERS as u64)),
        format!("{} characters", platform::ids::MAX_ID_LENGTH),
        format!("{} messages", thousands(MAX_UPDATES)),
    ] {
        assert!(document.contains(&stated), "{stated}");
    }
}

fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1_000), number % 1_000),
    }
}
