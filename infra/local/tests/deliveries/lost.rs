//! Tests that lost or repeated messages only delay work.

use events::records::deliveries::DeliveryStatus;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn what_every_message_of_was_lost_is_delivered_by_its_time() {
    let world = World::start().await;
    world.webhook().await;
    // The bus refuses the event.
    world.inbox.be_away(true);
    world.event(None).await;
    world.inbox.be_away(false);
    // The bus accepts the event, but its message is lost.
    world.event(None).await;
    world.inbox.lose_all();
    // The event is matched, but the hint at its run is lost.
    world.event(None).await;
    assert_eq!(world.match_messages().await, 0);
    world.hints.lose_all();
    world.sweeper.sweep(0).await.unwrap();
    world.settle().await;
    assert!(world.got().is_empty(), "its time has not come");
    for _ in 0..3 {
        world.pass(60);
        world.sweeper.sweep(0).await.unwrap();
        world.settle().await;
    }
    let delivered = world.all().await;
    assert_eq!(delivered.len(), 3);
    assert!(
        delivered
            .iter()
            .all(|delivery| delivery.status == DeliveryStatus::Succeeded)
    );
    assert_eq!(world.got().len(), 3);
    // No work is due any more.
    let later = world.clock.now().plus_ms(1_000_000_000);
    assert!(world.events.due(later, None).await.unwrap().is_empty());
    assert!(world.engine.due(later).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_backlog_counts_late_work_only() {
    let world = World::start().await;
    world.webhook().await;
    for _ in 0..3 {
        world.event(None).await;
    }
    world.inbox.lose_all();
    let ahead = world.sweeper.sweep(60_000).await.unwrap();
    assert_eq!((ahead.runs, ahead.events), (0, 0), "fresh events are not late");
    // All messages of the bus are lost: found events are postponed and stay in the count.
    for _ in 0..20 {
        world.pass(60);
        assert_eq!(world.sweeper.sweep(60_000).await.unwrap().events, 3);
        world.inbox.lose_all();
    }
}

#[tokio::test]
async fn a_run_counts_as_late_after_its_time_only() {
    let world = World::start().await;
    world.webhook().await;
    world.event(None).await;
    assert_eq!(world.match_messages().await, 0);
    world.hints.lose_all();
    let later = world.clock.now().plus_ms(600_000);
    assert_eq!(world.engine.due(later).await.unwrap().len(), 1);
    assert_eq!(world.sweeper.sweep(600_000).await.unwrap().runs, 0);
    world.pass(600);
    assert_eq!(world.sweeper.sweep(0).await.unwrap().runs, 1);
}

#[tokio::test]
async fn an_event_published_twice_is_delivered_once() {
    let world = World::start().await;
    world.webhook().await;
    let id = world.event(None).await;
    let record = world.events.find(&world.tenant, &id).await.unwrap().unwrap();
    let bus = local::bus::LocalBus::new(
        world.clock.clone(),
        vec![std::sync::Arc::new(world.inbox.clone())],
    );
    for _ in 0..5 {
        events::publish::publish_stored(&bus, &record).await;
    }
    // All messages in one batch, before the event is marked as matched; then one more after the delivery has
    // ended.
    world.settle().await;
    events::publish::publish_stored(&bus, &record).await;
    world.settle().await;
    assert_eq!(world.one().await.attempts.len(), 1);
    assert_eq!(world.got().len(), 1);
    // A later subscription does not match the event.
    world.webhook().await;
    events::publish::publish_stored(&bus, &record).await;
    world.settle().await;
    assert_eq!(world.got().len(), 1);
}

#[tokio::test]
async fn an_event_that_cannot_be_matched_is_looked_for_less_and_less() {
    let world = World::start().await;
    world.webhook().await;
    let id = world.event(None).await;
    world.inbox.lose_all();
    // The record says that the details are in the bucket, but the bucket lacks them.
    let mut record = world.events.find(&world.tenant, &id).await.unwrap().unwrap();
    record.id = "broken".to_owned();
    record.envelope = record.envelope.replace(&id, &record.id);
    record.details_key = Some("payloads/none".to_owned());
    world.events.insert(&world.tenant, &record).await.unwrap();
    let mut messages = 0;
    for _ in 0..120 {
        world.pass(60);
        world.sweeper.sweep(0).await.unwrap();
        messages += world.match_messages().await;
    }
    assert!(
        (3..=12).contains(&messages),
        "it was told {messages} times within two hours"
    );
    // A continued run delivers it, because the first run's timestamp is too old to sign.
    world.follow_hints().await;
    world.follow_hints().await;
    assert_eq!(world.got().len(), 1, "it delays no other");
}

#[tokio::test]
async fn an_invalid_event_is_set_aside_with_the_reason() {
    let world = World::start().await;
    let bus = local::bus::LocalBus::new(
        world.clock.clone(),
        vec![std::sync::Arc::new(world.inbox.clone())],
    );
    platform::bus::Bus::publish(
        &bus,
        &json!({ "event_id": "e", "account_id": "acme", "project_id": "demo" }).to_string(),
    )
    .await
    .unwrap();
    assert_eq!(world.match_messages().await, 0);
    let letters = world.letters.all();
    assert_eq!(letters.len(), 1);
    let letter: serde_json::Value = serde_json::from_str(&letters[0]).unwrap();
    let reason = letter["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("Its detail is no envelope. ") && reason.contains("event_category"),
        "{reason}"
    );
    assert!(letter["message"].as_str().unwrap().contains("millrace.event"));
}
