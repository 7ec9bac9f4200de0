//! `RefundOrder`, run in memory.

#![cfg(test)]

use std::time::Duration;

use serde_json::json;
use workflow::Failure;
use workflow::status::RunStatus;
use workflow::testing::TestRun;

fn run() -> TestRun {
    TestRun::new(&runs::registry(), "RefundOrder", &json!({ "name": "Ada" }))
}

#[test]
fn a_run_completes() {
    let outcome = run().query_at(Duration::ZERO, "State").run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(outcome.result, Some(json!({ "greeting": "Hello Ada!" })));
    assert_eq!(outcome.answers, [Ok(json!("greeting"))]);
}

#[test]
fn an_activity_that_fails_three_times_fails_the_run() {
    let outcome = run().mock("refund_order_greet", |_| Err(Failure::new("Busy", "Later.")));
    assert_eq!(outcome.run().unwrap().failure.unwrap().kind, "Busy");
}
