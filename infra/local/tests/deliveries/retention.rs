//! Tests that ended records are removed after their retention, and that open ones stay.

use event_log::logs::Logs;
use events::envelope::{RawObject, raw};
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use events::retention::Retention;
use local::services::{AUDIT_TABLE, DATA_BUCKET, EVENTS_TABLE};
use platform::records::logs::{LogId, LogKind};
use serde_json::json;

use crate::world::World;

const DAY_SECONDS: i64 = 24 * 3_600;

async fn find(world: &World, delivery: &DeliveryRecord) -> Option<DeliveryRecord> {
    world.deliveries.find(&world.tenant, &delivery.id).await.unwrap()
}

async fn expire(world: &World) {
    world.services.expire(world.clock.now()).await.unwrap();
}

#[tokio::test]
async fn a_delivery_goes_90_days_after_its_end_and_is_hidden_at_once() {
    let world = World::start().await;
    world.webhook().await;
    world.event(None).await;
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(delivery.status, DeliveryStatus::Succeeded);
    world.pass(90 * DAY_SECONDS - 1);
    expire(&world).await;
    assert!(find(&world, &delivery).await.is_some());
    world.pass(1);
    let hidden = world
        .deliveries
        .find_unexpired(&world.tenant, &delivery.id, world.clock.now());
    assert!(hidden.await.unwrap().is_none());
    world.pass(1);
    expire(&world).await;
    assert!(find(&world, &delivery).await.is_none());
    assert!(world.all().await.is_empty());
}

#[tokio::test]
async fn an_open_delivery_stays_and_so_does_one_that_is_made_again() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(404, None);
    world.event(None).await;
    world.settle().await;
    let failed = world.one().await;
    assert_eq!(failed.status, DeliveryStatus::Failed);
    world.pass(89 * DAY_SECONDS);
    world.answer_with(503, None);
    world.redelivery.retry(&world.tenant, &failed.id).await.unwrap();
    world.settle().await;
    assert_eq!(world.one().await.status, DeliveryStatus::Retrying);
    world.hints.lose_all();
    world.pass(1_000 * DAY_SECONDS);
    expire(&world).await;
    assert_eq!(
        find(&world, &failed).await.unwrap().status,
        DeliveryStatus::Retrying
    );
}

#[tokio::test]
async fn a_delivery_that_no_run_carries_out_goes_as_well() {
    let world = World::start().await;
    let target = json!({ "type": "workflow", "endpoint": "Quick", "workflow_id": "details.missing" });
    world.subscribe(&["external"], target).await;
    world.event(None).await;
    assert_eq!(world.match_messages().await, 0);
    let failed = world.one().await;
    assert_eq!(failed.status, DeliveryStatus::Failed);
    world.pass(90 * DAY_SECONDS + 1);
    expire(&world).await;
    assert!(find(&world, &failed).await.is_none());
}

fn large() -> RawObject {
    RawObject::from([("payload".to_owned(), raw(&"x".repeat(200_000)).unwrap())])
}

impl World {
    /// Marks the event as the archiver does once a file holds it.
    async fn archive(&self, event_id: &str) {
        let logs = self.logs();
        let log = LogId::new("acme", Some("demo"), LogKind::Events);
        let key = logs.record_key(&log, event_id, self.clock.now()).unwrap();
        let until = Retention::default().event_until(self.clock.now());
        logs.settle(&log, &[key], until.as_seconds()).await.unwrap();
    }

    pub fn logs(&self) -> Logs {
        let table = |name| self.services.table(name);
        Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE))
    }

    async fn has_event(&self, id: &str) -> bool {
        self.events.find(&self.tenant, id).await.unwrap().is_some()
    }

    async fn payloads(&self) -> usize {
        let bucket = self.services.bucket(DATA_BUCKET);
        bucket.list("payloads/").await.unwrap().len()
    }
}

#[tokio::test]
async fn an_event_that_is_matched_while_the_sweeper_tells_of_it_keeps_its_time() {
    let world = World::start().await;
    let id = world.event_with(None, large()).await;
    world.settle().await;
    world.archive(&id).await;
    let soon = world.clock.now().plus_ms(60_000);
    world.events.postpone(&world.tenant, &id, soon).await.unwrap();
    world.pass(DAY_SECONDS);
    assert_eq!(world.remover.sweep().await.unwrap(), 0);
    assert!(world.has_event(&id).await);
    assert_eq!(world.payloads().await, 1);
}

#[tokio::test]
async fn an_event_goes_90_days_after_it_was_archived_and_its_details_with_it() {
    let world = World::start().await;
    let small = world.event(None).await;
    let with_details = world.event_with(None, large()).await;
    world.settle().await;
    let unarchived = world.event_with(None, large()).await;
    world.settle().await;
    world.archive(&small).await;
    world.archive(&with_details).await;
    assert_eq!(world.payloads().await, 2);
    world.pass(90 * DAY_SECONDS - 1);
    expire(&world).await;
    assert_eq!(world.remover.sweep().await.unwrap(), 0);
    assert!(world.has_event(&small).await && world.has_event(&with_details).await);
    world.pass(2);
    expire(&world).await;
    world.remover.sweep().await.unwrap();
    assert!(!world.has_event(&small).await && !world.has_event(&with_details).await);
    assert!(world.has_event(&unarchived).await, "no file has it");
    assert_eq!(world.payloads().await, 1);
    world.archive(&unarchived).await;
    world.pass(DAY_SECONDS);
    world.remover.sweep().await.unwrap();
    assert!(!world.has_event(&unarchived).await);
    assert_eq!(world.payloads().await, 0);
    assert!(
        world
            .events
            .removals(world.clock.now(), 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn an_event_that_is_not_matched_stays() {
    let world = World::start().await;
    let event = world.event(None).await;
    world.archive(&event).await;
    for _ in 0..200 {
        world.inbox.lose_all();
        world.pass(DAY_SECONDS);
        world.sweeper.sweep(0).await.unwrap();
        expire(&world).await;
        assert!(world.has_event(&event).await);
    }
    world.settle().await;
    world.pass(91 * DAY_SECONDS);
    expire(&world).await;
    assert!(!world.has_event(&event).await);
}

#[tokio::test]
async fn an_event_that_an_open_delivery_names_stays() {
    let world = World::start().await;
    let target = json!({ "type": "workflow", "endpoint": "Waiting" });
    world.subscribe(&["external"], target).await;
    let mut events = Vec::new();
    for details in [RawObject::new(), large()] {
        events.push(world.event_with(None, details).await);
    }
    assert_eq!(world.match_messages().await, 0);
    for event in &events {
        world.archive(event).await;
    }
    let open = world.all().await;
    assert_eq!(open.len(), 2);
    for _ in 0..30 {
        world.pass(10 * DAY_SECONDS);
        let log = LogId::new("acme", Some("demo"), LogKind::Events);
        world.events.keep_named(&log, world.clock.now()).await.unwrap();
        expire(&world).await;
        world.remover.sweep().await.unwrap();
        for event in &events {
            assert!(world.has_event(event).await);
        }
    }
    for delivery in &open {
        world
            .redelivery
            .cancel(&world.tenant, &delivery.id, None)
            .await
            .unwrap();
    }
    world.settle().await;
    assert!(
        world
            .all()
            .await
            .iter()
            .all(|delivery| delivery.status.is_final())
    );
    world.pass(95 * DAY_SECONDS);
    expire(&world).await;
    world.remover.sweep().await.unwrap();
    for event in &events {
        assert!(!world.has_event(event).await);
    }
}

#[tokio::test]
async fn a_delivery_is_not_made_again_without_its_event_and_keeps_it_where_it_is() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(404, None);
    let event = world.event(None).await;
    world.settle().await;
    world.archive(&event).await;
    let failed = world.one().await;
    world.pass(89 * DAY_SECONDS);
    world.answer_with(503, None);
    world.redelivery.retry(&world.tenant, &failed.id).await.unwrap();
    world.pass(2 * DAY_SECONDS);
    expire(&world).await;
    assert!(world.has_event(&event).await, "an open delivery names it");
}

#[tokio::test]
async fn a_run_stays_for_a_delivery_that_is_made_after_its_end() {
    let world = World::start().await;
    let target = json!({ "type": "workflow", "endpoint": "Quick", "workflow_id": "details.order" });
    world.subscribe(&["external"], target).await;
    let order = || RawObject::from([("order".to_owned(), raw(&"order-7").unwrap())]);
    world.event_with(None, order()).await;
    world.settle().await;
    let run = world.one().await.workflow_run_id.unwrap();
    world.pass(80 * DAY_SECONDS);
    world.event_with(None, order()).await;
    world.settle().await;
    let joined = world.all().await.remove(0);
    assert_eq!(joined.workflow_run_id.as_ref(), Some(&run));
    world.pass(80 * DAY_SECONDS);
    expire(&world).await;
    assert_eq!(world.all().await, [joined]);
    world.engine.get(&world.tenant, &run).await.unwrap();
    world.pass(41 * DAY_SECONDS);
    expire(&world).await;
    assert!(world.all().await.is_empty());
    assert!(world.engine.get(&world.tenant, &run).await.is_err());
}

#[tokio::test]
async fn runs_of_a_delivery_whose_schedule_starts_again_stay_until_the_last_one_goes() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(503, None);
    world.event(None).await;
    world.settle().await;
    let first = world.one().await.workflow_run_id.unwrap();
    for _ in 0..40 {
        world.pass(DAY_SECONDS / 2);
        let delivery = world.one().await;
        assert_eq!(delivery.status, DeliveryStatus::Retrying);
        world.redelivery.retry(&world.tenant, &delivery.id).await.unwrap();
        world.settle().await;
    }
    world.answer_with(200, None);
    world.pass(DAY_SECONDS / 2);
    world.settle().await;
    let last = world.one().await;
    assert_eq!(last.status, DeliveryStatus::Succeeded);
    let last = last.workflow_run_id.unwrap();
    for (days, is_there) in [(89, true), (2, false)] {
        world.pass(days * DAY_SECONDS);
        for _ in 0..2 {
            expire(&world).await;
            for run in world.engine.removals(world.clock.now()).await.unwrap() {
                world.engine.drive(&run.tenant, &run.run_id).await.unwrap();
            }
        }
        for run in [&first, &last] {
            let state = world.engine.get(&world.tenant, run).await;
            assert_eq!(state.is_ok(), is_there, "{run}");
        }
    }
}
