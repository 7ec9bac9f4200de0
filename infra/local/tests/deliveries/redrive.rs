//! Tests redrives: an incident of an hour, a worker that is cut off at any point, and what is not redriven.

use std::collections::BTreeMap;
use std::time::Duration;

use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use events::search::DeliverySelection;
use platform::UtcTime;
use runs::redrive::{Limits, Progress, RedriveInput, WORKFLOW_TYPE, matching};
use serde_json::{Value, json};
use workflow::Payload;
use workflow::engine::{Hint, StartRun};

use crate::world::World;

const MINUTE: i64 = 60;

fn failed(from: UtcTime, to: UtcTime) -> DeliverySelection {
    DeliverySelection {
        status: vec![DeliveryStatus::Failed],
        from: Some(from),
        to: Some(to),
        ..DeliverySelection::default()
    }
}

fn input(selection: DeliverySelection, limit: u64, rate: u32) -> RedriveInput {
    RedriveInput {
        selection,
        limit,
        rate_per_second: rate,
        after: None,
        progress: Progress::default(),
    }
}

impl World {
    async fn dry_run(&self, selection: &DeliverySelection) -> Vec<DeliveryRecord> {
        let latest = UtcTime::EPOCH.plus_ms(u64::MAX);
        let deliveries = (&self.deliveries, &self.clock);
        let limits = Limits {
            most: 1_000,
            shown: 1_000,
            until: latest,
        };
        matching(deliveries, &self.tenant, selection, None, limits)
            .await
            .unwrap()
            .deliveries
    }

    async fn redrive(&self, input: &RedriveInput) -> String {
        let input = Payload::from_value(input).unwrap();
        let start = StartRun::new(WORKFLOW_TYPE, "delivery-redrive-1", input);
        self.engine.start(&self.tenant, &start).await.unwrap().run_id
    }

    /// Works until a run has ended. Returns its result.
    async fn result_of(&self, run_id: &str) -> Value {
        for _ in 0..1_000 {
            self.settle().await;
            let mut state = self.engine.get(&self.tenant, run_id).await.unwrap();
            while let Some(next) = self
                .engine
                .continues_as(&self.tenant, &state.run_id)
                .await
                .unwrap()
            {
                state = self.engine.get(&self.tenant, &next).await.unwrap();
            }
            if state.is_closed() {
                let run = self.engine.describe(&self.tenant, &state, None).await.unwrap();
                assert_eq!(run.status.as_str(), "COMPLETED", "{:?}", run.error);
                return serde_json::to_value(run.result).unwrap();
            }
            self.pass(1);
            self.sweeper.sweep(0).await.unwrap();
        }
        panic!("the redrive never ends");
    }

    /// Returns how often each delivery arrived.
    fn arrivals(&self) -> BTreeMap<String, usize> {
        let mut arrivals = BTreeMap::new();
        for got in self.got() {
            *arrivals.entry(got.header("x-service-delivery-id")).or_default() += 1;
        }
        arrivals
    }
}

#[tokio::test]
async fn hour_of_a_receiver_that_answered_404_is_redriven_and_nothing_else() {
    let world = World::start().await;
    world.webhook().await;
    let begun = world.clock.now();
    // An event each ten minutes for three hours; the receiver answers 404 in the second hour. Two others
    // fail a millisecond outside of that hour.
    for minute in (0..180).step_by(10) {
        world.answer_with(if (60..120).contains(&minute) { 404 } else { 200 }, None);
        world.event(None).await;
        world.settle().await;
        if minute == 50 || minute == 110 {
            world.answer_with(404, None);
            let edge_ms = if minute == 50 {
                10 * MINUTE * 1_000 - 1
            } else {
                10 * MINUTE * 1_000
            };
            world.clock.advance_ms(edge_ms);
            world.event(None).await;
            world.settle().await;
            world.clock.advance_ms(10 * MINUTE * 1_000 - edge_ms);
        } else {
            world.pass(10 * MINUTE);
        }
    }
    let all = world.all().await;
    let failures = all
        .iter()
        .filter(|delivery| delivery.status == DeliveryStatus::Failed);
    assert_eq!(failures.count(), 8);
    let from = begun.plus_ms(3_600_000);
    let hour = failed(from, from.plus_ms(3_600_000 - 1));
    world.answer_with(200, None);
    let before = world.arrivals();
    let counted: Vec<String> = world
        .dry_run(&hour)
        .await
        .into_iter()
        .map(|delivery| delivery.id)
        .collect();
    assert_eq!(counted.len(), 6);
    assert_eq!(world.arrivals(), before, "a dry run delivers nothing");

    let run = world.redrive(&input(hour.clone(), 1_000, 2)).await;
    let result = world.result_of(&run).await;
    assert_eq!(
        result,
        json!({ "matched": 6, "redriven": 6, "failed": 0, "failures": [], "more": false })
    );
    world.settle().await;
    for delivery in world.all().await {
        let arrived = world.arrivals()[&delivery.id];
        let is_redriven = counted.contains(&delivery.id);
        assert_eq!(arrived, 1 + usize::from(is_redriven), "{delivery:?}");
        if is_redriven {
            assert_eq!(
                (delivery.status, delivery.attempt_count),
                (DeliveryStatus::Succeeded, 2)
            );
        }
    }
    assert!(world.dry_run(&hour).await.is_empty());
    let wider = failed(begun, world.clock.now());
    assert_eq!(
        world.dry_run(&wider).await.len(),
        2,
        "the two at the edges stay failed"
    );
}

#[tokio::test]
async fn redrive_that_is_cut_off_anywhere_makes_one_attempt_of_each() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(404, None);
    let begun = world.clock.now();
    for _ in 0..12 {
        world.event(None).await;
    }
    world.settle().await;
    let run = world
        .redrive(&input(failed(begun, world.clock.now()), 1_000, 3))
        .await;
    // The receiver is still away, so that what is redriven fails again, and would be found again.
    let mut cut = 0;
    for round in 0..400 {
        for body in world.take_hints() {
            let hint: Hint = serde_json::from_str(&body).unwrap();
            let patience = Duration::from_micros(200 * (round % 60));
            let driven = world.engine.drive(&hint.tenant, &hint.run_id);
            match tokio::time::timeout(patience, driven).await {
                Ok(outcome) => outcome.unwrap(),
                Err(_) => cut += 1,
            }
        }
        world.pass(130);
        world.sweeper.sweep(0).await.unwrap();
    }
    assert!(cut > 20, "only {cut} drives were cut off");
    let result = world.result_of(&run).await;
    assert_eq!(
        (&result["matched"], &result["redriven"], &result["failed"]),
        (&json!(12), &json!(12), &json!(0))
    );
    for delivery in world.all().await {
        assert_eq!(
            (delivery.status, delivery.attempt_count),
            (DeliveryStatus::Failed, 2),
            "{delivery:?}"
        );
    }
}

#[tokio::test]
async fn attempt_of_a_redrive_is_started_once_for_its_run_id() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(404, None);
    world.event(None).await;
    world.settle().await;
    let id = world.one().await.id;
    for _ in 0..3 {
        world
            .redelivery
            .redrive(&world.tenant, &id, "attempt-1")
            .await
            .unwrap();
        world.settle().await;
    }
    assert_eq!(
        world.one().await.attempt_count,
        2,
        "a repeat after its end starts nothing"
    );
    world
        .redelivery
        .redrive(&world.tenant, &id, "attempt-2")
        .await
        .unwrap();
    let open = world
        .redelivery
        .redrive(&world.tenant, &id, "attempt-3")
        .await
        .unwrap_err();
    assert_eq!(
        open.message(),
        format!("The delivery '{id}' is pending by now; only a failed or a cancelled one is redriven.")
    );
}

#[tokio::test]
async fn redrive_stops_at_its_limit_and_tells_what_it_could_not_redrive() {
    let world = World::start().await;
    let subscription = world.webhook().await;
    world.answer_with(404, None);
    let begun = world.clock.now();
    for _ in 0..5 {
        world.event(None).await;
        world.settle().await;
        world.pass(1);
    }
    let selection = failed(begun, world.clock.now());
    world.answer_with(200, None);
    let run = world.redrive(&input(selection.clone(), 2, 10)).await;
    let result = world.result_of(&run).await;
    assert_eq!(
        result,
        json!({ "matched": 2, "redriven": 2, "failed": 0, "failures": [], "more": true })
    );
    let left = world.dry_run(&selection).await;
    assert_eq!(left.len(), 3);
    assert!(
        left.iter()
            .all(|delivery| delivery.created_at >= begun.plus_ms(2_000)),
        "the oldest come first"
    );
    world
        .matcher
        .subscriptions
        .remove(&world.tenant, &subscription, |_| Ok(()))
        .await
        .unwrap();
    let run = world.redrive(&input(selection, 10, 10)).await;
    let result = world.result_of(&run).await;
    assert_eq!((&result["redriven"], &result["failed"]), (&json!(0), &json!(3)));
    let expected: Vec<Value> = left
        .iter()
        .map(|delivery| {
            let reason =
                format!("The subscription '{subscription}' is deleted, so nothing is delivered to it.");
            json!({ "delivery_id": delivery.id, "reason": reason })
        })
        .collect();
    assert_eq!(result["failures"], json!(expected));
}

#[tokio::test]
async fn redrive_keeps_its_rate() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(404, None);
    let begun = world.clock.now();
    for _ in 0..10 {
        world.event(None).await;
    }
    world.settle().await;
    world.answer_with(200, None);
    let run = world
        .redrive(&input(failed(begun, world.clock.now()), 1_000, 2))
        .await;
    world.result_of(&run).await;
    let mut each_second: BTreeMap<i64, usize> = BTreeMap::new();
    for got in world.got().iter().skip(10) {
        *each_second.entry(got.at.as_seconds()).or_default() += 1;
    }
    assert_eq!(each_second.values().sum::<usize>(), 10);
    assert!(each_second.values().all(|count| *count <= 2), "{each_second:?}");
}

#[tokio::test]
async fn selection_by_answer_and_error_takes_what_has_them() {
    let world = World::start().await;
    world.webhook().await;
    let begun = world.clock.now();
    for status in [404, 422] {
        world.answer_with(status, None);
        world.event(None).await;
        world.settle().await;
    }
    let all = failed(begun, world.clock.now());
    let by_status = DeliverySelection {
        response_status: vec![404],
        ..all.clone()
    };
    let by_error = DeliverySelection {
        error: Some("status 422".to_owned()),
        ..all.clone()
    };
    let neither = DeliverySelection {
        response_status: vec![404],
        ..by_error.clone()
    };
    for (selection, statuses) in [
        (all, vec![422, 404]),
        (by_status, vec![404]),
        (by_error, vec![422]),
        (neither, vec![]),
    ] {
        let deliveries = world.dry_run(&selection).await;
        let answered: Vec<_> = deliveries
            .iter()
            .map(|delivery| delivery.attempts[0].response_status.unwrap())
            .collect();
        // Both may be of one millisecond.
        let mut sorted = (answered, statuses);
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        assert_eq!(sorted.0, sorted.1, "{selection:?}");
    }
}

#[tokio::test]
async fn cancelled_delivery_keeps_the_reason() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(503, None);
    world.event(None).await;
    world.settle().await;
    let id = world.one().await.id;
    let reason = Some("The order was withdrawn.");
    world.redelivery.cancel(&world.tenant, &id, reason).await.unwrap();
    world.settle().await;
    let cancelled = world.one().await;
    assert_eq!(cancelled.status, DeliveryStatus::Cancelled);
    assert_eq!(
        cancelled.last_error.as_deref(),
        Some("It was cancelled: The order was withdrawn.")
    );
    let ended = world
        .redelivery
        .cancel(&world.tenant, &id, None)
        .await
        .unwrap_err();
    assert_eq!(
        ended.message(),
        format!("The delivery '{id}' has ended; it is cancelled.")
    );
}
