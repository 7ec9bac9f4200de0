//! Tests the archiving of records from the tail into files.

use event_log::archive::Passed;
use events::records::events::EventRecord;
use platform::Tenant;
use platform::auth::Principal;
use platform::http::audit::event;
use platform::records::audit::{AuditAction, AuditEvent};
use platform::records::logs::{LogId, LogKind};
use serde_json::json;

use crate::world::{World, at, envelope};

const NOON: &str = "2026-11-24T12:00:00.123Z";

#[tokio::test]
async fn records_leave_the_tail_for_a_file_of_the_day_and_one_of_late_records() {
    let world = World::new().await;
    world.events(0..30, NOON).await;
    // The days around the one on which the records come, offsets, and days far in the past and the future.
    for (id, time) in [
        ("last", "2026-11-23T23:59:59.999Z"),
        ("first", "2026-11-24T00:00:00Z"),
        ("offset", "2026-11-24T00:30:00+01:00"),
        ("old", "1969-07-20T20:17:40Z"),
        ("far", "2999-12-31T23:59:59Z"),
        ("leap", "2016-12-31T23:59:60Z"),
    ] {
        world.event(id, time).await;
    }
    world.advance_minutes(1);
    let passed = world.pass().await;
    assert_eq!((passed.records, passed.files, passed.lag_s), (36, 2, 60));
    assert_eq!(world.tail().await, 0);
    let files = world.files().await;
    let days: Vec<_> = files
        .iter()
        .map(|file| (file.day.as_str(), file.records))
        .collect();
    assert_eq!(days, [("2026-11-24", 33), ("2026-11-24", 3)]);
    let spans = [&files[0], &files[1]].map(|file| (file.from, file.to));
    assert_eq!(
        spans,
        [
            (at("2026-11-23T23:30:00Z"), at(NOON)),
            (at("1969-07-20T20:17:40Z"), at("2999-12-31T23:59:59Z"))
        ]
    );
    let archived = world.archived().await;
    assert_eq!(archived.len(), 36);
    assert!(archived.values().all(|count| *count == 1));

    let head = world.head().await;
    assert_eq!(
        (head.unsettled.len(), head.waiting_files, head.idle_passes),
        (0, 2, 0)
    );
    assert_eq!(head.due_at, world.clock.now().plus_ms(60_000));
    // A pass without new records changes only the time of the next pass.
    assert_eq!(world.pass().await, Passed::default());
    assert_eq!(world.head().await.due_at, world.clock.now().plus_ms(120_000));
}

#[tokio::test]
async fn an_event_that_comes_again_or_late_is_archived_once() {
    let world = World::new().await;
    world.events(0..10, NOON).await;
    world.events(5..15, NOON).await;
    assert_eq!(world.pass().await.records, 15);
    world.events(0..20, NOON).await;
    world.event("late", "2026-11-20T10:00:00Z").await;
    assert_eq!(world.pass().await.records, 6);
    let archived = world.archived().await;
    assert_eq!(archived.len(), 21);
    assert!(archived.values().all(|count| *count == 1), "{archived:?}");
}

#[tokio::test]
async fn large_details_are_archived_whole_and_what_cannot_be_read_stays() {
    let world = World::new().await;
    let details = json!({ "text": "é\u{0}\"".repeat(100_000) });
    let mut whole = serde_json::from_value(envelope("large", NOON, &details)).unwrap();
    let key = events::payload::keep(&world.objects, &world.tenant, &mut whole)
        .await
        .unwrap();
    let record = |id: &str, envelope: String, details_key| EventRecord {
        id: id.to_owned(),
        envelope,
        details_key,
        received_at: world.clock.now(),
        lineage: Vec::new(),
        addressee: None,
        matched_at: None,
        private_to: None,
    };
    assert!(key.is_some());
    let large = record("large", serde_json::to_string(&whole).unwrap(), key);
    let broken = record("broken", "{".to_owned(), None);
    let gone = envelope("gone", NOON, &json!({})).to_string();
    let gone = record("gone", gone, Some("payloads/none".to_owned()));
    // Events of these years are never accepted; DuckDB writes such times in its own form.
    let ancient = ["0000-12-31T23:59:59Z", "-000001-01-01T00:00:00Z"].map(|time| {
        let envelope = envelope(time, time, &json!({})).to_string();
        record(time, envelope, None)
    });
    let [first, second] = &ancient;
    for event in [&large, &broken, &gone, first, second] {
        world.events.insert(&world.tenant, event).await.unwrap();
    }
    let passed = world.pass().await;
    assert_eq!((passed.records, passed.unreadable), (1, 4));
    assert_eq!(world.tail().await, 4);
    let file = &world.files().await[0];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.parquet");
    let key = world.log.file_key(&file.day, &file.id);
    assert!(world.objects.find_to_file(&key, &path, u64::MAX).await.unwrap());
    let rows = world.rows(&path, "SELECT event_id, details FROM").await;
    let archived: serde_json::Value = serde_json::from_str(rows[0][1].as_str().unwrap()).unwrap();
    assert_eq!((rows.len(), rows[0][0].as_str().unwrap()), (1, "large"));
    assert!(archived == details);
}

#[tokio::test]
async fn two_archivers_at_once_archive_each_record_once() {
    let world = World::new().await;
    world.events(0..200, NOON).await;
    let (first, second) = (
        world.archiver_with("first", 90, Default::default()),
        world.archiver_with("second", 90, Default::default()),
    );
    let (one, other) = tokio::join!(first.pass(&world.log), second.pass(&world.log));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.records + other.records, 200, "{one:?} {other:?}");
    assert_eq!(world.tail().await, 0);
    let archived = world.archived().await;
    assert_eq!(archived.len(), 200);
    assert!(archived.values().all(|count| *count == 1));
    // The losing archiver removed its file.
    assert_eq!(world.objects_of_log().await.len(), world.files().await.len());
}

#[tokio::test]
async fn audit_records_of_an_account_have_a_log_of_their_own() {
    let mut world = World::new().await;
    let tenant = Tenant::new("acme", "demo").unwrap();
    let record = |id: &str, project: Option<&str>| AuditEvent {
        id: id.to_owned(),
        project_id: project.map(str::to_owned),
        ..event(
            AuditAction::Create,
            "prompt",
            &Principal::system(&tenant),
            at(NOON),
        )
    };
    for event in [record("a1", Some("demo")), record("a2", None), record("a3", None)] {
        world.trail.insert(&event).await.unwrap();
    }
    for (project, expected) in [(Some("demo"), vec!["a1"]), (None, vec!["a2", "a3"])] {
        world.log = LogId::new("acme", project, LogKind::Audit);
        assert_eq!(world.pass().await.records, expected.len() as u64);
        assert_eq!(world.tail().await, 0);
        let archived = world.archived().await;
        assert_eq!(archived.keys().collect::<Vec<_>>(), expected);
    }
    let objects = world.objects_of_log().await;
    assert!(
        objects[0].starts_with("log/acme/!account/2026-11-24/audit/"),
        "{objects:?}"
    );
    // A log without records.
    world.log = LogId::new("acme", Some("other"), LogKind::Audit);
    assert_eq!(world.pass().await, Passed::default());
}
