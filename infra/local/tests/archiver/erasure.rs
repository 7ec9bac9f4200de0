//! Tests that a log continues over an erasure, beside an archiver and after one that died.

use event_log::archive::{Crash, Step};
use event_log::digest::Erasure;
use platform::records::{Condition, keys};

use crate::world::World;

const NOON: &str = "2026-11-24T12:00:00Z";

fn erasure() -> Erasure {
    Erasure {
        operator: "ann".to_owned(),
        reason: "end of contract".to_owned(),
        files: 1,
        records: 1,
        project_items: 1,
        project_objects: 1,
    }
}

/// Removes what the command removes after it signed: items except the head, files, and digests except those
/// of erasures.
async fn remove_all(world: &World) {
    let (items, _) = world.events_table.scan(None).await.unwrap();
    for (key, _) in items {
        if keys::is_of(&world.tenant, &key) && key != world.log.head_key() {
            let removed = world.events_table.delete(&key, Condition::Present).await;
            assert!(removed.unwrap().took_effect("an item").unwrap());
        }
    }
    let (eraser, key) = (world.eraser(), world.public_keys().await);
    for object in world.objects_of_log().await {
        if !eraser.is_erasure(&object, &key).await.unwrap() {
            world.objects.remove(&object).await.unwrap();
        }
    }
}

#[tokio::test]
async fn log_continues_over_an_erasure_wherever_an_archiver_died() {
    for step in [
        Step::FilesWritten,
        Step::FilesCommitted,
        Step::RecordsSettled,
        Step::DigestSigned,
        Step::DigestWritten,
    ] {
        let world = World::new().await;
        world.events(0..5, NOON).await;
        world.pass().await;
        world.advance_minutes(61);
        world.events(5..10, NOON).await;
        let dies = world.archiver_with("dies", 90, Crash::Pass(step));
        assert!(dies.pass(&world.log).await.is_err(), "{step:?}");

        world.eraser().sign(&world.log, &erasure()).await.unwrap();
        assert!(world.head().await.is_erased(), "{step:?}");
        remove_all(&world).await;
        let copy = world.copy().await;
        let report = world.verify(copy.path(), &[]).await.unwrap();
        assert!(report.is_complete(), "{step:?}: {report:?}");

        world.events(20..23, NOON).await;
        world.pass().await;
        world.advance_minutes(61);
        world.pass().await;
        assert_eq!(world.archived().await.len(), 3, "{step:?}");
        assert!(!world.head().await.is_erased());
        let copy = world.copy().await;
        let report = world.verify(copy.path(), &[]).await.unwrap();
        assert!(report.is_complete(), "{step:?}: {report:?}");
        let log = &report.logs[0];
        assert_eq!(
            (log.digests, log.records, log.erasures.len()),
            (2, 3, 1),
            "{step:?}"
        );
    }
}

#[tokio::test]
async fn chain_has_no_fork_if_an_archiver_works_meanwhile() {
    let world = World::new().await;
    let archiver = world.archiver();
    for round in 0..20 {
        world.events(round * 3..round * 3 + 3, NOON).await;
        world.advance_minutes(20);
        let erasure = erasure();
        let eraser = world.eraser();
        let (passed, signed) = tokio::join!(archiver.pass(&world.log), eraser.sign(&world.log, &erasure));
        passed.unwrap();
        signed.unwrap();
    }
    let copy = world.copy().await;
    let report = world.verify(copy.path(), &[]).await.unwrap();
    // A file that waited for its digest as an erasure was signed is one that the command removes.
    assert!(report.logs[0].erasures.len() == 20, "{report:?}");
    for finding in &report.findings {
        assert!(finding.name.ends_with(".parquet"), "{finding:?}");
    }
    let last = world.head().await.last_digest.unwrap();
    assert_eq!(report.logs[0].last_digest.as_ref().unwrap().sha256, last.sha256);
    assert_eq!(report.logs[0].digests as u64, last.sequence + 1);
}

#[tokio::test]
async fn log_without_a_head_gets_no_statement() {
    let world = World::new().await;
    world.eraser().sign(&world.log, &erasure()).await.unwrap();
    assert_eq!(world.objects_of_log().await, Vec::<String>::new());
}
