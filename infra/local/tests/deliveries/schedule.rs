//! Tests the times of attempts, and the timestamps that they carry.

use events::records::deliveries::DeliveryStatus;
use events::target::RETRY_SCHEDULE_MS;

use crate::world::World;

/// Advances the clock to the next attempt and makes it.
async fn next_attempt(world: &World) {
    let at = world.one().await.next_attempt_at.expect("one waits");
    world
        .clock
        .advance_ms(at.millis_since(world.clock.now()).try_into().unwrap());
    world.settle().await;
    // If the pause exceeds a queue's longest delay, the sweeper finds the attempt.
    world.sweeper.sweep(0).await.unwrap();
    world.settle().await;
}

#[tokio::test]
async fn a_receiver_that_is_never_there_is_asked_ten_times_within_a_day() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(503, None);
    world.event(None).await;
    world.settle().await;
    for (place, step) in RETRY_SCHEDULE_MS.into_iter().enumerate() {
        let delivery = world.one().await;
        assert_eq!(delivery.status, DeliveryStatus::Retrying);
        assert_eq!(delivery.attempts.len(), place + 1);
        let pause = delivery.next_attempt_at.unwrap().millis_since(world.clock.now());
        assert!(
            (step * 8 / 10..=step * 12 / 10).contains(&pause),
            "{pause} for {step}"
        );
        next_attempt(&world).await;
    }
    let delivery = world.one().await;
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    assert_eq!(
        delivery.last_error.as_deref(),
        Some("The receiver answered with the status 503. It was the last attempt.")
    );
    assert_eq!((delivery.attempt_count, delivery.next_attempt_at), (10, None));
    let got = world.got();
    assert_eq!(got.len(), 10);
    for (place, got) in got.iter().enumerate() {
        assert_eq!(got.header("x-service-delivery-id"), delivery.id);
        assert_eq!(got.body["delivery"]["attempt"], place + 1);
        // Receivers refuse a signature that is older than 15 minutes.
        for header in ["x-service-timestamp", "webhook-timestamp"] {
            let signed: i64 = got.header(header).parse().unwrap();
            let age = got.at.as_seconds() - signed;
            assert!(
                (0..=600).contains(&age),
                "attempt {}: {header} is {age} s old",
                place + 1
            );
        }
    }
    // A requested redelivery starts the schedule again.
    world.answer_with(200, None);
    world.redelivery.retry(&world.tenant, &delivery.id).await.unwrap();
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(
        (delivery.status, delivery.attempt_count),
        (DeliveryStatus::Succeeded, 11)
    );
    assert_eq!(delivery.last_error, None);
}

#[tokio::test]
async fn a_receiver_may_ask_for_more_time() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(429, Some("9"));
    world.event(None).await;
    world.settle().await;
    let pause = |at: platform::UtcTime| at.millis_since(world.clock.now());
    assert_eq!(pause(world.one().await.next_attempt_at.unwrap()), 9_000);
    world.answer_with(503, Some("Thu, 01 Jan 2026 00:01:00 GMT"));
    next_attempt(&world).await;
    let until = world.one().await.next_attempt_at.unwrap();
    assert_eq!(until.to_string(), "2026-01-01T00:01:00.000Z");
    world.answer_with(503, Some("86400"));
    next_attempt(&world).await;
    assert_eq!(pause(world.one().await.next_attempt_at.unwrap()), 240_000);
}

#[tokio::test]
async fn a_retry_takes_the_place_of_the_one_that_waits() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(500, None);
    world.event(None).await;
    world.settle().await;
    next_attempt(&world).await;
    world.pass(3);
    world
        .redelivery
        .retry(&world.tenant, &world.one().await.id)
        .await
        .unwrap();
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(delivery.attempts.len(), 3);
    // The schedule restarts, and the earlier waiting attempt does not happen as well.
    let pause = delivery.next_attempt_at.unwrap().millis_since(world.clock.now());
    assert!((4_000..=6_000).contains(&pause), "{pause}");
    world.answer_with(200, None);
    next_attempt(&world).await;
    world.pass(3_600);
    world.sweeper.sweep(0).await.unwrap();
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(
        (delivery.status, delivery.attempts.len()),
        (DeliveryStatus::Succeeded, 4)
    );
    assert_eq!(world.got().len(), 4);
}

#[tokio::test]
async fn a_first_attempt_that_comes_late_is_signed_with_a_time_of_its_own() {
    let world = World::start().await;
    world.webhook().await;
    world.event(None).await;
    world.match_messages().await;
    world.pass(20 * 60);
    world.settle().await;
    let (delivery, got) = (world.one().await, world.got());
    assert_eq!((delivery.status, got.len()), (DeliveryStatus::Succeeded, 1));
    let signed: i64 = got[0].header("x-service-timestamp").parse().unwrap();
    assert_eq!(signed, world.clock.now().as_seconds());
    assert_eq!(got[0].body["delivery"]["attempt"], 1);
}

#[tokio::test]
async fn a_run_that_is_ended_ends_its_delivery() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(500, None);
    world.event(None).await;
    world.settle().await;
    let run = world.one().await.workflow_run_id.unwrap();
    world
        .engine
        .terminate(&world.tenant, &run, None, "t")
        .await
        .unwrap();
    let delivery = world.one().await;
    assert_eq!(delivery.status, DeliveryStatus::Cancelled);
    assert_eq!(delivery.last_error.as_deref(), Some("Its run was terminated."));
    assert_eq!(delivery.next_attempt_at, None);
}

#[tokio::test]
async fn a_key_is_remembered_for_thirty_days() {
    let world = World::start().await;
    let first = world.event(Some("k")).await;
    world.pass(30 * 24 * 3_600 - 1);
    assert_eq!(world.event(Some("k")).await, first);
    world.pass(2);
    assert_ne!(world.event(Some("k")).await, first);
}

/// A failure on our side: the delivery waits, one run continuing the other, for one day in all.
#[tokio::test]
async fn a_secret_that_is_never_opened_ends_the_delivery_after_a_day() {
    let world = World::start().await;
    let subscription = world.webhook().await;
    world.lose_secret(&subscription).await;
    world.event(None).await;
    world.settle().await;
    let mut hours = 0.0;
    while !world.one().await.status.is_final() {
        assert!(hours < 26.0, "it never ends");
        world.pass(20 * 60);
        hours += 1.0 / 3.0;
        for _ in 0..2 {
            world.sweeper.sweep(0).await.unwrap();
            world.settle().await;
        }
    }
    assert!(hours > 23.0, "it ended after {hours} hours");
    let delivery = world.one().await;
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    assert!(
        delivery.last_error.is_some() && world.got().is_empty(),
        "{delivery:?}"
    );
}
