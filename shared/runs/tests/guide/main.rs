//! Compiles, lints and runs the code of docs/workflow-types.md exactly as the page shows it, and its test.

#![cfg(test)]

// A reader pastes the page's files into the crate `runs`.
extern crate self as runs;

pub mod order;
mod order_by_event;
mod order_test;
mod order_with_check;

use std::fs;

use serde_json::json;
use workflow::status::RunStatus;
use workflow::testing::{TestRun, check_history};
use workflow::updates::{MAX_MESSAGE_CHARACTERS, MAX_UPDATES};
use workflow::{Registry, limits};

const PAGE: &str = "../../docs/workflow-types.md";

/// The registry after the page's type is added.
pub fn registry() -> Registry {
    order::add(Registry::new())
}

#[test]
fn the_page_shows_the_code_that_is_tested() {
    let page = fs::read_to_string(PAGE).unwrap();
    let blocks: Vec<_> = page
        .split("```rust\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect();
    let file = |name: &str| fs::read_to_string(format!("tests/guide/{name}.rs")).unwrap();
    let part = |name: &str| {
        let file = file(name);
        let part = file.split("use super::order::{Order, Shipped, run};\n\n").nth(1);
        part.unwrap().to_owned()
    };
    let expected = [file("order"), part("order_by_event"), part("order_with_check")];
    assert_eq!(blocks.len(), expected.len());
    for (number, (shown, tested)) in blocks.iter().zip(&expected).enumerate() {
        assert!(
            shown == tested,
            "block {number} of {PAGE} is not the code that is tested"
        );
    }
}

#[test]
fn an_order_comes_by_hand_or_in_an_event() {
    let registry = order::add(Registry::new())
        .without_workflow("Order")
        .workflow("Order", order_by_event::by_event);
    let order = json!({ "order_id": "o-1", "cents": 5, "parcels": 1 });
    let event = json!({ "vars": {}, "event": { "details": { "payload": order } }, "delivery": {} });
    for input in [order, event] {
        let outcome = TestRun::new(&registry, "Order", &input).run().unwrap();
        assert_eq!(outcome.status, RunStatus::Completed);
    }
    let wrong = json!({ "order_id": "o-1", "cents": "5", "parcels": 1 });
    let failure = TestRun::new(&registry, "Order", &wrong)
        .run()
        .unwrap()
        .failure
        .unwrap();
    assert!(failure.message.contains("expected u64"), "{failure}");
}

#[test]
fn a_patch_is_for_new_runs_and_leaves_the_old_ones_alone() {
    let patched = order::add(Registry::new())
        .without_workflow("Order")
        .workflow(order::WORKFLOW_TYPE, order_with_check::checked);
    let input = json!({ "order_id": "o-1", "cents": 5, "parcels": 1 });
    let old = TestRun::new(&registry(), "Order", &input).run().unwrap();
    check_history(&patched, &old.history).unwrap();
    let new = TestRun::new(&patched, "Order", &input).mock("order_check", |_| Ok(json!(null)));
    let new = new.run().unwrap();
    assert_eq!(new.status, RunStatus::Completed);
    assert_eq!(new.activities()[0], "order_check");
    assert!(check_history(&registry(), &new.history).is_err());
}

#[test]
fn the_page_tells_the_limits_as_they_are() {
    let page = fs::read_to_string(PAGE).unwrap();
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
        format!("{} seconds", workflow::turn_runner::TURN_LIMIT.as_secs()),
        format!("{} things", thousands(workflow::turn::MAX_COMMANDS as u64)),
        format!("{} bytes", thousands(limits::MAX_WRITE_BYTES as u64)),
        format!("{} characters", thousands(MAX_MESSAGE_CHARACTERS as u64)),
        format!("{} characters", platform::ids::MAX_ID_LENGTH),
        format!("{} messages", thousands(MAX_UPDATES)),
    ] {
        assert!(page.contains(&stated), "{stated}");
    }
}

fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1_000), number % 1_000),
    }
}
