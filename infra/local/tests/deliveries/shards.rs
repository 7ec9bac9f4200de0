//! Tests changes of a project's number of listing shards while events are delivered: every listing shows each
//! record once and in order.

use std::collections::BTreeSet;

use event_log::logs::Logs;
use events::records::deliveries::{DeliveryIndex, DeliveryStatus};
use events::records::listing_shards::ListingShards;
use local::services::{AUDIT_TABLE, EVENTS_TABLE, RUNS_TABLE};
use platform::records::logs::{LogId, LogKind};
use platform::{ErrorKind, UtcTime};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use workflow::records::{RunIndex, RunPosition, Runs};
use workflow::status::RunStatus;

use crate::world::World;

const SEEDS: u64 = 6;
const STEPS: u32 = 60;

fn shards(world: &World) -> [ListingShards; 2] {
    [RUNS_TABLE, EVENTS_TABLE].map(|table| ListingShards::new(world.services.table(table)))
}

fn runs(world: &World) -> Runs {
    let table = |name| world.services.table(name);
    Runs::new(table(RUNS_TABLE), table(EVENTS_TABLE))
}

/// Returns the ids of a listing that is read in pages, newest first.
async fn deliveries(world: &World, index: &DeliveryIndex, from: UtcTime, most: usize) -> Vec<String> {
    let mut places: Vec<(UtcTime, String)> = Vec::new();
    loop {
        let latest = (UtcTime::EPOCH.plus_ms(u64::MAX), None);
        let until = places
            .last()
            .map_or(latest, |(time, id)| (*time, Some(id.as_str())));
        let listing = world.deliveries.list(&world.tenant, index, from, until, most);
        let (page, more) = listing.await.unwrap();
        // Each page repeats the last delivery of the previous one.
        let is_new = |id: &String| places.last().is_none_or(|(_, last)| last != id);
        let page: Vec<_> = page
            .into_iter()
            .map(|summary| (summary.created_at, summary.id))
            .collect();
        let page: Vec<_> = page.into_iter().filter(|(_, id)| is_new(id)).collect();
        places.extend(page);
        if !more {
            assert!(places.is_sorted_by(|one, other| one > other), "{places:?}");
            return places.into_iter().map(|(_, id)| id).collect();
        }
    }
}

async fn all_runs(world: &World, index: &RunIndex, most: usize) -> Vec<String> {
    let runs = runs(world);
    let mut places: Vec<(UtcTime, String)> = Vec::new();
    loop {
        let latest = RunPosition::Until(UtcTime::EPOCH.plus_ms(u64::MAX));
        let until = places
            .last()
            .map_or(latest, |(time, id)| RunPosition::At(*time, id.clone()));
        let listing = runs.list(&world.tenant, index, UtcTime::EPOCH, &until, most);
        let (page, more) = listing.await.unwrap();
        for summary in page {
            let summary = platform::stored_json::read(summary).unwrap();
            let summary: Value = serde_json::from_str(&summary).unwrap();
            let text = |name: &str| summary[name].as_str().unwrap().to_owned();
            let place = (text("started_at").parse().unwrap(), text("run_id"));
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
        if !more {
            assert!(places.is_sorted_by(|one, other| one > other), "{places:?}");
            return places.into_iter().map(|(_, id)| id).collect();
        }
    }
}

fn set(ids: &[String]) -> BTreeSet<String> {
    let set: BTreeSet<_> = ids.iter().cloned().collect();
    assert_eq!(set.len(), ids.len(), "{ids:?}");
    set
}

#[tokio::test]
async fn listings_are_whole_while_the_shards_of_a_project_change() {
    for seed in 0..SEEDS {
        let mut random = StdRng::seed_from_u64(seed);
        let world = World::start().await;
        world.webhook().await;
        let subscription = world
            .subscribe(
                &["external"],
                serde_json::json!({ "type": "workflow", "endpoint": "Waiting" }),
            )
            .await;
        let mut events = BTreeSet::new();
        for _ in 0..STEPS {
            match random.random_range(0..10) {
                0 => {
                    let number = random.random_range(1..=6);
                    for shards in shards(&world) {
                        shards
                            .change(&world.tenant, number, world.clock.now())
                            .await
                            .unwrap();
                    }
                }
                1 | 2 => world.pass(random.random_range(1..200)),
                3 => world.answer_with([200, 400][random.random_range(0..2)], None),
                _ => {
                    world.pass(random.random_range(0..2));
                    events.insert(world.event(None).await);
                    world.settle().await;
                }
            }
        }
        let most = random.random_range(2..9);
        let all = set(&deliveries(&world, &DeliveryIndex::All, UtcTime::EPOCH, most).await);
        assert_eq!(all.len(), 2 * events.len(), "seed {seed}");
        let of_one = DeliveryIndex::Subscription(subscription);
        let of_one = set(&deliveries(&world, &of_one, UtcTime::EPOCH, most).await);
        assert_eq!(of_one.len(), events.len(), "seed {seed}");
        let [failed, running] = [DeliveryStatus::Failed, DeliveryStatus::Running].map(DeliveryIndex::Status);
        let failed = set(&deliveries(&world, &failed, UtcTime::EPOCH, most).await);
        let running = set(&deliveries(&world, &running, UtcTime::EPOCH, most).await);
        let mut expected = (BTreeSet::new(), BTreeSet::new());
        for id in &all {
            let delivery = world.deliveries.get(&world.tenant, id).await.unwrap();
            match delivery.status {
                DeliveryStatus::Failed => expected.0.insert(id.clone()),
                DeliveryStatus::Running => expected.1.insert(id.clone()),
                _ => false,
            };
        }
        assert_eq!((failed, running), expected, "seed {seed}");

        let every = set(&all_runs(&world, &RunIndex::All, most).await);
        assert_eq!(every.len(), all.len(), "seed {seed}");
        let waiting = RunIndex::Type("Waiting".to_owned());
        let waiting = set(&all_runs(&world, &waiting, most).await);
        assert_eq!(waiting.len(), events.len(), "seed {seed}");
        let mut running = BTreeSet::new();
        for id in &every {
            let run = runs(&world).find(&world.tenant, id).await.unwrap().unwrap();
            if run.status == RunStatus::Running.as_str() {
                running.insert(id.clone());
            }
        }
        let under_way = RunIndex::Status(RunStatus::Running.as_str().to_owned());
        assert_eq!(
            set(&all_runs(&world, &under_way, most).await),
            running,
            "seed {seed}"
        );

        let table = |name| world.services.table(name);
        let logs = Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE));
        let log = LogId::new("acme", Some("demo"), LogKind::Events);
        let tail = logs.tail::<Value>(&log, None).await.unwrap();
        let external = tail.iter().map(|record| record.record["id"].as_str().unwrap());
        let external: BTreeSet<_> = external.map(str::to_owned).collect();
        assert!(external.is_superset(&events), "seed {seed}");
        assert_eq!(external.len(), tail.len(), "seed {seed}");
        let times = tail
            .iter()
            .map(|record| record.record["received_at"].as_str().unwrap());
        assert!(times.is_sorted(), "seed {seed}");
    }
}

#[tokio::test]
async fn a_change_begins_two_minutes_later_for_writers_that_have_not_read_it() {
    let world = World::start().await;
    world.webhook().await;
    world.event(None).await;
    world.settle().await;
    for shards in shards(&world) {
        let change = shards.change(&world.tenant, 4, world.clock.now()).await.unwrap();
        assert_eq!(change.unwrap().from, world.clock.now().plus_ms(120_000));
    }
    for _ in 0..40 {
        world.pass(5);
        world.event(None).await;
        world.settle().await;
    }
    let pairs = deliveries(&world, &DeliveryIndex::All, UtcTime::EPOCH, 7).await;
    assert_eq!(pairs.len(), 41);
    // Only the latest record was created while there were four shards.
    let since = world.clock.now();
    let latest = deliveries(&world, &DeliveryIndex::All, since, 7).await;
    assert_eq!(latest, pairs[..1]);
}

#[tokio::test]
async fn a_number_of_shards_has_bounds() {
    let world = World::start().await;
    let [runs, _] = shards(&world);
    let now = world.clock.now();
    for number in [0, 65, u16::MAX] {
        let refused = runs.change(&world.tenant, number, now).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidRequest);
        assert!(refused.message().contains("from 1 to 64"), "{refused}");
    }
    assert_eq!(runs.change(&world.tenant, 1, now).await.unwrap(), None);
    let first = runs.change(&world.tenant, 64, now).await.unwrap();
    assert_eq!(
        runs.change(&world.tenant, 64, now.plus_ms(5)).await.unwrap(),
        first
    );
    // A clock that goes backwards does not put a change before an earlier one.
    let second = runs
        .change(&world.tenant, 2, UtcTime::EPOCH)
        .await
        .unwrap()
        .unwrap();
    assert!(second.from > first.unwrap().from);
    assert_eq!(runs.current(&world.tenant).await.unwrap().changes().len(), 2);
}
