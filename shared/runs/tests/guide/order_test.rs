//! `Order`, run in memory.

#![cfg(test)]

use std::time::Duration;

use serde_json::{Value, json};
use workflow::Failure;
use workflow::status::RunStatus;
use workflow::testing::TestRun;

const SECOND: Duration = Duration::from_secs(1);

fn order(cents: u64) -> TestRun {
    let input = json!({ "order_id": "o-1", "cents": cents, "parcels": 2 });
    TestRun::new(&runs::registry(), "Order", &input)
}

#[test]
fn an_order_is_paid_and_shipped() {
    let outcome = order(500).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let shipped = json!({ "receipt": "receipt of o-1", "parcels": 2 });
    assert_eq!(outcome.result, Some(shipped));
    let done = ["order_reserve", "order_charge", "order_ship"];
    assert_eq!(outcome.activities(), done);
}

#[test]
fn a_large_order_waits_for_its_approval() {
    let approval = json!({ "message": "Fine." });
    let run = order(500_000).query_at(SECOND, "State");
    let outcome = run.signal_at(SECOND * 5, "Approve", &approval).run().unwrap();
    assert_eq!(outcome.answers, [Ok(json!("waiting for an approval"))]);
    assert_eq!(outcome.updates[0].details, Some(json!("Fine.")));
    assert_eq!(outcome.status, RunStatus::Completed);
    // The day passes at once, because the clock of a test jumps.
    let late = order(500_000).run().unwrap();
    assert_eq!(late.failure.unwrap().kind, "NotApproved");
}

#[test]
fn a_declined_card_is_tried_once_and_the_stock_released() {
    let outcome = order(0).run().unwrap();
    assert_eq!(outcome.failure.as_ref().unwrap().kind, "CardDeclined");
    let done = ["order_reserve", "order_charge", "order_refund", "order_release"];
    assert_eq!(outcome.activities(), done);
}

#[test]
fn an_order_that_is_cancelled_while_it_is_charged_is_refunded() {
    let outcome = order(500)
        .taking("order_charge", SECOND * 10)
        .cancel_at(SECOND * 5, "The customer changed their mind.")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
    let done = ["order_reserve", "order_charge", "order_refund", "order_release"];
    assert_eq!(outcome.activities(), done);
}

#[test]
fn stock_that_is_briefly_away_is_asked_for_again() {
    let busy = |_: Value| Err(Failure::new("Busy", "Later."));
    let outcome = order(500).mock("order_reserve", busy).run().unwrap();
    assert_eq!(outcome.failure.unwrap().kind, "Busy");
}
