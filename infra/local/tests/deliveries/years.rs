//! Simulates years of events, deliveries and runs by seed, with their removal: nothing in use is removed, and
//! nothing stays for ever.

use std::collections::BTreeSet;

use events::envelope::{RawObject, raw};
use events::records::deliveries::DeliveryRecord;
use events::retention::Retention;
use local::services::{DATA_BUCKET, EVENTS_TABLE, RUNS_TABLE};
use platform::records::logs::{LogId, LogKind};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::world::World;

const SEEDS: u64 = 4;
const STEPS: u32 = 80;
const DAY_SECONDS: i64 = 24 * 3_600;

struct Years {
    world: World,
    random: StdRng,
    unarchived: BTreeSet<String>,
    /// Unmatched events, because their messages were lost.
    unmatched: BTreeSet<String>,
    ever_delivered: BTreeSet<String>,
}

impl Years {
    async fn begin(seed: u64) -> Self {
        let world = World::start().await;
        world.webhook().await;
        for target in ["Waiting", "Quick"] {
            let target = json!({ "type": "workflow", "endpoint": target, "workflow_id": "details.order" });
            world.subscribe(&["external"], target).await;
        }
        Self {
            world,
            random: StdRng::seed_from_u64(seed),
            unarchived: BTreeSet::new(),
            unmatched: BTreeSet::new(),
            ever_delivered: BTreeSet::new(),
        }
    }

    /// Returns details with one of five orders, so that deliveries join runs, and sometimes large enough for
    /// the bucket.
    fn details(&mut self) -> RawObject {
        let order = format!("order-{}", self.random.random_range(0..5));
        let mut details = RawObject::from([("order".to_owned(), raw(&order).unwrap())]);
        if self.random.random_range(0..4) == 0 {
            details.insert("payload".to_owned(), raw(&"x".repeat(150_000)).unwrap());
        }
        details
    }

    async fn step(&mut self) {
        match self.random.random_range(0..20) {
            0..6 => {
                let details = self.details();
                let event = self.world.event_with(None, details).await;
                self.unarchived.insert(event.clone());
                if self.random.random_range(0..8) == 0 {
                    self.world.inbox.lose_all();
                    self.unmatched.insert(event);
                }
                self.world.settle().await;
            }
            6 => {
                let status = [200, 404, 503][self.random.random_range(0..3)];
                self.world.answer_with(status, None);
            }
            7 | 8 => self.archive().await,
            9 => {
                let deliveries = self.all_deliveries().await;
                if let Some(delivery) = self.pick(&deliveries) {
                    let redelivery = &self.world.redelivery;
                    // Refused where the delivery is open, or its event is gone.
                    let _ = match self.random.random_range(0..2) {
                        0 => redelivery.retry(&self.world.tenant, &delivery.id).await,
                        _ => redelivery.cancel(&self.world.tenant, &delivery.id, None).await,
                    };
                    self.world.settle().await;
                }
            }
            10 => {
                self.world.sweeper.sweep(0).await.unwrap();
                // The sweeper publishes lost events again.
                if self.world.inbox.all().is_empty() {
                    return;
                }
                self.world.settle().await;
                self.unmatched.clear();
            }
            _ => {
                let days = self.random.random_range(1..25);
                self.world.pass(days * DAY_SECONDS);
                self.world.settle().await;
            }
        }
        self.remove().await;
    }

    fn pick(&mut self, deliveries: &[DeliveryRecord]) -> Option<DeliveryRecord> {
        let count = deliveries.len();
        (count > 0).then(|| deliveries[self.random.random_range(0..count)].clone())
    }

    async fn archive(&mut self) {
        let logs = self.world.logs();
        let log = LogId::new("acme", Some("demo"), LogKind::Events);
        let tail = logs.tail::<Value>(&log, None).await.unwrap();
        let keys: Vec<_> = tail.into_iter().map(|record| record.key).collect();
        let until = Retention::default().event_until(self.world.clock.now());
        logs.settle(&log, &keys, until.as_seconds()).await.unwrap();
        self.unarchived.clear();
    }

    /// Does the removals that happen in the cloud on their own: expiry, and the sweeper's removals.
    async fn remove(&self) {
        let world = &self.world;
        let log = LogId::new("acme", Some("demo"), LogKind::Events);
        world.events.keep_named(&log, world.clock.now()).await.unwrap();
        world.services.expire(world.clock.now()).await.unwrap();
        world.remover.sweep().await.unwrap();
        for run in world.engine.removals(world.clock.now()).await.unwrap() {
            world.engine.drive(&run.tenant, &run.run_id).await.unwrap();
        }
        world.settle().await;
    }

    async fn all_deliveries(&mut self) -> Vec<DeliveryRecord> {
        let deliveries = self.world.all().await;
        self.ever_delivered
            .extend(deliveries.iter().map(|delivery| delivery.id.clone()));
        deliveries
    }

    /// Checks that nothing in use is gone.
    async fn check(&mut self, at: &str) {
        for event in self.unarchived.iter().chain(&self.unmatched) {
            let record = self.world.events.find(&self.world.tenant, event).await.unwrap();
            assert!(
                record.is_some(),
                "{at}: the event {event} is gone before it was archived and matched"
            );
        }
        for delivery in self.all_deliveries().await {
            let deliveries = &self.world.deliveries;
            let unexpired =
                deliveries.find_unexpired(&self.world.tenant, &delivery.id, self.world.clock.now());
            if unexpired.await.unwrap().is_none() {
                continue;
            }
            let event = &delivery.event_id;
            let record = self.world.events.find(&self.world.tenant, event).await.unwrap();
            assert!(
                record.is_some() || delivery.status.is_final(),
                "{at}: no event of {delivery:?}"
            );
            let Some(run) = &delivery.workflow_run_id else {
                continue;
            };
            let state = self.world.engine.get(&self.world.tenant, run).await;
            let state = state.unwrap_or_else(|error| panic!("{at}: no run of {delivery:?}: {error}"));
            let history = self
                .world
                .engine
                .history(&self.world.tenant, &state)
                .await
                .unwrap();
            assert_eq!(
                history.len() as u64,
                state.last_event,
                "{at}: the history of {delivery:?} is not whole"
            );
        }
    }

    /// Returns everything that remains after all work has ended and expired.
    async fn remaining_keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for name in [RUNS_TABLE, EVENTS_TABLE] {
            let (records, next) = self.world.services.table(name).scan(None).await.unwrap();
            assert!(next.is_none());
            keys.extend(
                records
                    .into_iter()
                    .map(|(key, _)| format!("{} {}", key.pk, key.sk)),
            );
        }
        // The log keeps its own state.
        keys.retain(|key| !key.starts_with("acme#*#event-logs"));
        let bucket = self.world.services.bucket(DATA_BUCKET);
        for folder in ["payloads/", "states/"] {
            keys.extend(
                bucket
                    .list(folder)
                    .await
                    .unwrap()
                    .into_iter()
                    .map(|object| object.key),
            );
        }
        keys
    }
}

#[tokio::test]
async fn nothing_in_use_goes_and_nothing_stays_for_ever() {
    for seed in 0..SEEDS {
        let mut years = Years::begin(seed).await;
        for step in 0..STEPS {
            years.step().await;
            years.check(&format!("seed {seed}, step {step}")).await;
        }
        let ever = years.ever_delivered.len();
        assert!(
            ever > years.all_deliveries().await.len(),
            "seed {seed}: no delivery has gone"
        );

        // Let all open work end.
        years.world.answer_with(200, None);
        for _ in 0..3 {
            years.world.pass(40 * DAY_SECONDS);
            years.world.sweeper.sweep(0).await.unwrap();
            years.world.settle().await;
        }
        for delivery in years.all_deliveries().await {
            let _ = years
                .world
                .redelivery
                .cancel(&years.world.tenant, &delivery.id, None)
                .await;
        }
        years.world.settle().await;
        for _ in 0..10 {
            years.archive().await;
            years.world.pass(40 * DAY_SECONDS);
            years.remove().await;
        }
        let keys = years.remaining_keys().await;
        assert_eq!(keys, Vec::<String>::new(), "seed {seed}");
    }
}
