//! Tests that a snapshot has each record once, wherever the record is and whatever an archiver does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use events::envelope::raw;
use platform::auth::Principal;
use platform::http::audit::event;
use platform::records::audit::{AuditAction, AuditEvent};
use platform::records::logs::{LogId, LogKind};
use platform::{Tenant, UtcTime};
use serde_json::{Value, json};

use crate::world::{World, at, envelope, events_of, ids_of};

const NOON: &str = "2026-11-24T12:00:00Z";

#[tokio::test]
async fn a_log_without_records_is_empty() {
    let world = World::new().await;
    assert!(world.ids(&["demo"]).await.unwrap().is_empty());
    let audit = LogId::new("acme", None, LogKind::Audit);
    let snapshot = world.snapshot(&[audit]).await;
    let sql = format!(
        "SELECT count(*), max(\"timestamp\"), sum(status) FROM {}",
        snapshot.source()
    );
    assert_eq!(
        snapshot.rows(&sql, &[]).await.unwrap(),
        [[json!(0), Value::Null, Value::Null]]
    );
}

#[tokio::test]
async fn a_record_is_there_once_in_each_step_of_its_archiving() {
    let world = World::new().await;
    let log = events_of("demo");
    world.insert(envelope("demo", "e1", NOON)).await;
    assert_eq!(world.ids(&["demo"]).await.unwrap(), ["demo/e1"]);

    let files = world.commit(&log).await.unwrap();
    let snapshot = world.snapshot(std::slice::from_ref(&log)).await;
    assert_eq!((snapshot.files().len(), snapshot.tail_records()), (1, 0));
    assert_eq!(ids_of(&snapshot).await.unwrap(), ["demo/e1"]);

    world.insert(envelope("demo", "e2", NOON)).await;
    assert_eq!(world.ids(&["demo"]).await.unwrap(), ["demo/e1", "demo/e2"]);
    world.settle(&log, files).await;
    assert_eq!(world.ids(&["demo"]).await.unwrap(), ["demo/e1", "demo/e2"]);
    world.settled(&log).await;
    let snapshot = world.snapshot(&[log]).await;
    assert_eq!((snapshot.files().len(), snapshot.tail_records()), (1, 1));
    assert_eq!(ids_of(&snapshot).await.unwrap(), ["demo/e1", "demo/e2"]);
}

#[tokio::test]
async fn a_merged_file_has_the_records_of_those_that_it_replaces() {
    let world = World::new().await;
    let log = events_of("demo");
    world.insert(envelope("demo", "e1", NOON)).await;
    world.archive(&log).await;
    world.insert(envelope("demo", "e2", NOON)).await;
    // The record still has its marker when its file is merged.
    world.commit(&log).await.unwrap();
    let files = world.store.logs().all_files(&log).await.unwrap();
    world.merge(&log, &files).await;
    world.insert(envelope("demo", "e3", NOON)).await;
    let snapshot = world.snapshot(&[log]).await;
    assert_eq!((snapshot.files().len(), snapshot.tail_records()), (1, 1));
    assert_eq!(
        ids_of(&snapshot).await.unwrap(),
        ["demo/e1", "demo/e2", "demo/e3"]
    );
}

#[tokio::test]
async fn projects_may_call_their_events_the_same() {
    let world = World::new().await;
    for project in ["demo", "test", "other"] {
        world.insert(envelope(project, "e1", NOON)).await;
    }
    world.commit(&events_of("demo")).await.unwrap();
    world.insert(envelope("demo", "e2", NOON)).await;
    let both = world.ids(&["test", "demo"]).await.unwrap();
    assert_eq!(both, ["demo/e1", "demo/e2", "test/e1"]);
}

#[tokio::test]
async fn files_and_records_of_other_times_are_left_out() {
    let world = World::new().await;
    let log = events_of("demo");
    let times = [
        "2026-11-23T23:59:59.999Z",
        "2026-11-24T00:00:00.000Z",
        "2026-11-24T23:59:59.999Z",
        "2026-11-25T00:00:00.000Z",
    ];
    for (number, time) in times.into_iter().enumerate() {
        world.insert(envelope("demo", &format!("e{number}"), time)).await;
    }
    let counts = async |from: &str, to: &str| {
        let logs = std::slice::from_ref(&log);
        let snapshot = world.store.snapshot(logs, at(from), at(to)).await.unwrap();
        (snapshot.files().len(), snapshot.tail_records())
    };
    assert_eq!(counts(times[1], times[2]).await, (0, 2));
    assert_eq!(counts(times[3], times[0]).await, (0, 0));
    world.archive(&log).await;
    assert_eq!(counts(times[0], times[3]).await, (3, 0));
    assert_eq!(counts(times[1], times[2]).await, (1, 0));
    assert_eq!(
        counts("2026-11-24T23:59:59.999Z", "2026-11-24T23:59:59.999Z").await,
        (1, 0)
    );
    assert_eq!(
        counts("2026-11-25T00:00:00.001Z", "2026-11-25T10:00:00Z").await,
        (0, 0)
    );
    assert_eq!(counts(times[3], times[0]).await, (0, 0));
}

#[tokio::test]
async fn large_details_and_hostile_texts_are_read_whole() {
    let world = World::new().await;
    let log = events_of("demo");
    let text = "it's \"\\\n\u{1F30A}'; DROP TABLE x; --\u{2028}";
    for number in 0..3 {
        let mut event = envelope("demo", &format!("e{number} {}", text.replace('\n', " ")), NOON);
        event.resource_id = text.replace('\n', " ");
        event
            .details
            .insert(text.to_owned(), raw(&text.repeat(5_000)).unwrap());
        event.resource_data.insert(text.to_owned(), raw(&text).unwrap());
        world.insert(event).await;
    }
    for _ in ["tail", "file"] {
        let snapshot = world.snapshot(std::slice::from_ref(&log)).await;
        let sql = format!(
            "SELECT resource_id, details, resource_data FROM {} WHERE event_id LIKE 'e1 %'",
            snapshot.source()
        );
        let expected = [[
            json!(text.replace('\n', " ")),
            json!(json!({ text: text.repeat(5_000) }).to_string()),
            json!(json!({ text: text }).to_string()),
        ]];
        assert_eq!(snapshot.rows(&sql, &[]).await.unwrap(), expected);
        world.archive(&log).await;
    }
}

#[tokio::test]
async fn audit_records_of_projects_and_of_the_account_are_read_together() {
    let world = World::new().await;
    let tenant = Tenant::new("acme", "demo").unwrap();
    let record = |id: &str, project: Option<&str>| AuditEvent {
        id: id.to_owned(),
        project_id: project.map(str::to_owned),
        roles: vec!["admin".to_owned()],
        ..event(
            AuditAction::Create,
            "prompt",
            &Principal::system(&tenant),
            at(NOON),
        )
    };
    let mut logs = Vec::new();
    for record in [record("a1", Some("demo")), record("a2", None)] {
        world.audit.insert(&record).await.unwrap();
        logs.push(record.log());
    }
    let snapshot = world.snapshot(&logs).await;
    let sql = format!(
        "SELECT id, project_id, roles FROM {} ORDER BY id",
        snapshot.source()
    );
    let expected = [
        [json!("a1"), json!("demo"), json!(["admin"])],
        [json!("a2"), Value::Null, json!(["admin"])],
    ];
    assert_eq!(snapshot.rows(&sql, &[]).await.unwrap(), expected);
    // A snapshot refuses logs of different kinds or accounts.
    logs.push(events_of("demo"));
    let now = at(NOON);
    assert!(world.store.snapshot(&logs, now, now).await.is_err());
    assert!(world.store.snapshot(&[], now, now).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_each_record_once_while_an_archiver_works() {
    let world = Arc::new(World::new().await);
    let log = events_of("demo");
    for number in 0..40 {
        world
            .insert(envelope("demo", &format!("e{number:03}"), NOON))
            .await;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (world, is_over) = (Arc::clone(&world), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut reads = 0;
                while !is_over.load(Ordering::SeqCst) || reads == 0 {
                    let ids = match world.ids(&["demo"]).await {
                        Ok(ids) => ids,
                        // The archiver of this test never pauses, so a reader may not find a quiet moment.
                        Err(error) if error.status() == 503 => continue,
                        Err(error) => panic!("{error}"),
                    };
                    let all: Vec<_> = (0..ids.len())
                        .map(|number| format!("demo/e{number:03}"))
                        .collect();
                    assert_eq!(ids, all);
                    assert!(ids.len() >= 40);
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    for round in 1..=12 {
        for number in round * 40..(round + 1) * 40 {
            world
                .insert(envelope("demo", &format!("e{number:03}"), NOON))
                .await;
        }
        world.archive(&log).await;
        if round % 4 == 0 {
            let files = world.store.logs().all_files(&log).await.unwrap();
            let current: Vec<_> = files
                .into_iter()
                .filter(|file| file.replaced_by.is_none())
                .collect();
            world.merge(&log, &current).await;
        }
    }
    is_over.store(true, Ordering::SeqCst);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    assert_eq!(world.ids(&["demo"]).await.unwrap().len(), 13 * 40);
}

#[tokio::test]
async fn a_snapshot_keeps_its_files_and_a_full_cache_drops_others() {
    let world = World::new().await;
    let log = events_of("demo");
    for (number, day) in ["2026-11-23", "2026-11-24"].into_iter().enumerate() {
        let time = format!("{day}T12:00:00Z");
        world.insert(envelope("demo", &format!("e{number}"), &time)).await;
    }
    world.archive(&log).await;
    let files = world.store.logs().all_files(&log).await.unwrap();
    let most = files.iter().map(|file| file.bytes).max().unwrap() + 10;
    let store = world.other_store("small", most);
    let of_day = |day: u64| {
        let from = at("2026-11-23T00:00:00Z").plus_ms(day * 86_400_000);
        (from, from.plus_ms(86_399_999))
    };
    let logs = std::slice::from_ref(&log);
    let snapshot = async |(from, to): (UtcTime, UtcTime)| store.snapshot(logs, from, to).await.unwrap();
    let first = snapshot(of_day(0)).await;
    let second = snapshot(of_day(1)).await;
    assert!(first.files()[0].path().exists() && second.files()[0].path().exists());
    assert_eq!(ids_of(&first).await.unwrap(), ["demo/e0"]);
    let path = first.files()[0].path().to_owned();
    drop(first);
    assert!(!path.exists() && second.files()[0].path().exists());
    // Both files together exceed the cache.
    let (from, to) = (of_day(0).0, of_day(1).1);
    assert_eq!(
        store
            .snapshot(logs, from, to)
            .await
            .err()
            .map(|error| error.status()),
        Some(422)
    );
    drop(second);

    // Another process finds the files in the cache, and nothing else.
    drop(store);
    let other = world.other_store("small", most);
    let again = other.snapshot(logs, of_day(1).0, of_day(1).1).await.unwrap();
    assert_eq!(ids_of(&again).await.unwrap(), ["demo/e1"]);
}

#[tokio::test]
async fn a_damaged_object_is_not_read() {
    let world = World::new().await;
    let log = events_of("demo");
    world.insert(envelope("demo", "e1", NOON)).await;
    world.archive(&log).await;
    let file = world.store.logs().all_files(&log).await.unwrap().remove(0);
    let key = log.file_key(&file.day, &file.id);
    let mut bytes = world.store.objects().find(&key).await.unwrap().unwrap();
    bytes[20] ^= 1;
    world.store.objects().put(&key, bytes).await.unwrap();
    let error = world.ids(&["demo"]).await.unwrap_err();
    assert_eq!(error.status(), 500, "{error}");
}

#[tokio::test]
async fn queries_of_an_account_share_a_child_and_leave_nothing_behind() {
    let world = World::new().await;
    world.insert(envelope("demo", "e1", NOON)).await;
    world.ids(&["demo"]).await.unwrap();
    let children = world.store.engine().idle_children();
    for _ in 0..3 {
        world.ids(&["demo"]).await.unwrap();
    }
    // The first is the one of the account; the spare child for others may have come meanwhile.
    let idle = world.store.engine().idle_children();
    assert_eq!(idle.first(), children.first(), "{children:?} and {idle:?}");
    assert!(idle.len() <= 2, "{idle:?}");
    let folder = world.store.temporary_folder("acme").unwrap();
    let account = folder.path().parent().unwrap();
    let entries: Vec<_> = std::fs::read_dir(account).unwrap().collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
}
