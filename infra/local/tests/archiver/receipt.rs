//! Tests that the number of files depends on when events come, and not on the times that they tell.

use std::collections::BTreeMap;

use event_log::aggregate::AggregateEvents;
use futures::future::join_all;
use platform::UtcTime;
use platform::auth::Viewer;
use serde_json::{Value, json};

use crate::world::{World, at};

/// Default number of events; `EVENTS=100000` sends the full number.
const EVENTS: usize = 1_500;
/// Number of times that a pass follows on new events.
const PASSES: usize = 5;
const AT_ONCE: usize = 50;
const DAY_MS: u64 = 86_400_000;
const TEN_YEARS_MS: u64 = 3_652 * DAY_MS;

/// Returns the configured number of events.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration")]
fn count() -> usize {
    std::env::var("EVENTS").map_or(EVENTS, |text| text.parse().unwrap())
}

/// Returns a time of the ten years before the test, by a generator of numbers that are spread evenly.
fn random_time(number: usize) -> UtcTime {
    let spread = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let spread = (spread ^ (spread >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11;
    at("2016-11-25T00:00:00Z").plus_ms(spread % TEN_YEARS_MS)
}

fn time_of_today(number: usize) -> UtcTime {
    at("2026-11-24T10:00:00Z").plus_ms(number as u64 % 600_000)
}

/// Sends events, and archives them. Returns the number of files before and after the day is closed.
async fn files_of(world: &World, time: fn(usize) -> UtcTime) -> [usize; 2] {
    let numbers: Vec<_> = (0..count()).collect();
    let archiver = world.archiver();
    let mut file_count = 0;
    for part in numbers.chunks(count().div_ceil(PASSES)) {
        for some in part.chunks(AT_ONCE) {
            join_all(some.iter().map(async |number| {
                let time = time(*number).to_string();
                world.event(&format!("e{number:06}"), &time).await;
            }))
            .await;
        }
        loop {
            let passed = archiver.pass(&world.log).await.unwrap();
            file_count += usize::try_from(passed.files).unwrap();
            if !passed.more {
                break;
            }
        }
        world.advance_minutes(1);
    }
    world.advance_minutes(24 * 60);
    archiver.pass(&world.log).await.unwrap();
    [file_count, world.files().await.len()]
}

#[tokio::test]
async fn random_times_of_ten_years_make_as_many_files_as_those_of_today() {
    let (today, random) = (World::new().await, World::new().await);
    let expected = files_of(&today, time_of_today).await;
    let counts = files_of(&random, random_time).await;
    for (count, expected) in counts.iter().zip(&expected) {
        assert!(count * 10 <= expected * 11, "{count} files instead of {expected}");
    }
    let archived = random.archived().await;
    assert_eq!(archived.len(), count());
    assert!(archived.values().all(|times| *times == 1));
}

#[tokio::test]
async fn sums_over_random_times_are_exact_wherever_the_events_are() {
    let world = World::new().await;
    let (archiver, store) = (world.archiver(), world.store());
    let times: Vec<_> = (0..240)
        .map(|number| match number % 3 {
            0 => time_of_today(number),
            _ => random_time(number),
        })
        .collect();
    let ranges = [
        (at("2016-11-01T00:00:00Z"), at("2017-10-31T23:59:59.999Z")),
        (times[100], times[100]),
        (at("2019-02-28T13:00:00Z"), at("2019-12-31T23:59:59.999Z")),
        (at("2026-11-24T00:00:00Z"), at("2026-11-24T10:00:00.100Z")),
        (at("2026-11-24T10:00:00.101Z"), at("2027-01-01T00:00:00Z")),
    ];
    for (number, time) in times.iter().enumerate() {
        world.event(&format!("e{number:03}"), &time.to_string()).await;
        let times_so_far = times.get(..=number).unwrap();
        // Files of several passes and a tail, and at the end files that were merged.
        match number {
            60 | 120 | 180 => drop(archiver.pass(&world.log).await.unwrap()),
            239 => {
                world.advance_minutes(26 * 60);
                archiver.pass(&world.log).await.unwrap();
                world.advance_minutes(61);
                archiver.pass(&world.log).await.unwrap();
            }
            30 | 90 | 150 | 210 => {}
            _ => continue,
        }
        for (from, to) in ranges {
            let body = json!({
                "from": from, "to": to, "groupBy": [{ "dimension": "time", "resolution": "month" }],
                "metrics": [{ "id": "n", "operation": "count" }],
            });
            let body: AggregateEvents = serde_json::from_value(body).unwrap();
            let plan = body.plan(world.clock.now()).unwrap();
            let answer = store
                .aggregate("acme", Some("demo"), &plan, &Viewer::operator())
                .await
                .unwrap();
            let counts = answer
                .rows
                .iter()
                .filter_map(|row| row.metrics["n"].as_ref()?.as_u64());
            let expected = times_so_far
                .iter()
                .filter(|time| (from..=to).contains(time))
                .count();
            assert_eq!(counts.sum::<u64>(), expected as u64, "{number}: {from} {to}");
        }
    }
    assert_eq!(world.archived().await.len(), 240);
}

#[tokio::test]
async fn a_few_late_events_do_not_widen_the_file_of_the_others() {
    let world = World::new().await;
    world.events(0..20, "2026-11-24T10:00:00Z").await;
    world.event("yesterday", "2026-11-23T10:00:00Z").await;
    world.event("broken clock", "1970-01-01T00:00:00Z").await;
    world.pass().await;
    let store = world.store();
    let logs = std::slice::from_ref(&world.log);
    let mut records = BTreeMap::new();
    for day in ["1970-01-01", "2025-01-01", "2026-11-24"] {
        let (from, to) = (
            at(&format!("{day}T00:00:00Z")),
            at(&format!("{day}T23:59:59.999Z")),
        );
        let snapshot = store.snapshot(logs, from, to).await.unwrap();
        let files = snapshot.files().iter();
        records.insert(day, files.map(|file| file.file.records).collect::<Vec<_>>());
    }
    assert_eq!(
        json!(records),
        json!({ "1970-01-01": [1], "2025-01-01": [], "2026-11-24": [21] }),
        "readers of a day read the files that may have its events"
    );
}

#[tokio::test]
async fn an_old_event_that_comes_again_after_its_expiry_is_no_second_one() {
    let world = World::new().await;
    let archiver = world.archiver_with("archiver", 1, event_log::archive::Crash::Never);
    let send = async |numbers: std::ops::Range<usize>| {
        for number in numbers {
            world
                .event(&format!("e{number:03}"), &random_time(number).to_string())
                .await;
        }
    };
    send(0..20).await;
    archiver.pass(&world.log).await.unwrap();
    world.advance_minutes(25 * 60);
    let (records, _) = world.events_table.scan(None).await.unwrap();
    for (key, _) in records
        .into_iter()
        .filter(|(key, _): &(_, Value)| key.sk == "event")
    {
        let _ = world
            .events_table
            .delete(&key, platform::records::Condition::Present)
            .await
            .unwrap();
    }
    send(10..30).await;
    let passed = archiver.pass(&world.log).await.unwrap();
    assert_eq!((passed.records, passed.repeats), (10, 10));
    assert_eq!(world.archived().await.len(), 30);
}
