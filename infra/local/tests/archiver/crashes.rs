//! Crashes a pass at every step; the next pass completes its work.

use event_log::archive::{Crash, Step};

use crate::world::World;

const NOON: &str = "2026-11-24T12:00:00Z";

/// Makes every step of a pass happen: records, sixteen files to merge, a digest, a replaced file to collect.
async fn prepared() -> World {
    let world = World::new().await;
    let archiver = world.archiver();
    for number in 0..16 {
        world.events(number..number + 1, NOON).await;
        archiver.pass(&world.log).await.unwrap();
    }
    // The hour is over, but the replaced files are not yet old enough to be removed.
    world.advance_minutes(55);
    archiver.pass(&world.log).await.unwrap();
    for number in 16..30 {
        world.events(number..number + 1, NOON).await;
        archiver.pass(&world.log).await.unwrap();
    }
    world.advance_minutes(61);
    world.events(30..40, NOON).await;
    world
}

#[tokio::test]
async fn every_record_is_archived_once_if_a_pass_dies_at_a_batch() {
    die_at(&Step::ALL[..3]).await;
}

#[tokio::test]
async fn every_record_is_archived_once_if_a_pass_dies_at_a_merge_or_digest() {
    die_at(&Step::ALL[3..6]).await;
}

#[tokio::test]
async fn every_record_is_archived_once_if_a_pass_dies_after_its_digest() {
    die_at(&Step::ALL[6..]).await;
}

async fn die_at(steps: &[Step]) {
    for step in steps {
        let world = prepared().await;
        let dies = world.archiver_with("dies", 90, Crash::Pass(*step));
        let died = dies.pass(&world.log).await;
        assert!(died.is_err(), "{step:?} is not reached: {died:?}");
        let lives = world.archiver_with("lives", 90, Crash::Never);
        lives.pass(&world.log).await.unwrap();
        world.events(40..41, NOON).await;
        for _ in 0..3 {
            lives.pass(&world.log).await.unwrap();
            world.advance_minutes(61);
        }
        assert_eq!(world.tail().await, 0, "{step:?}");
        let archived = world.archived().await;
        assert_eq!(archived.len(), 41, "{step:?}");
        assert!(
            archived.values().all(|count| *count == 1),
            "{step:?} {archived:?}"
        );
        let head = world.head().await;
        assert_eq!(
            (head.unsettled.len(), head.unwritten_digest.is_none()),
            (0, true),
            "{step:?}"
        );
        // No object remains without an item.
        let files = world.logs.all_files(&world.log).await.unwrap();
        let objects = world.objects_of_log().await;
        let data = objects.iter().filter(|key| key.ends_with(".parquet")).count();
        assert_eq!(data, files.len(), "{step:?}");
        let copy = world.copy().await;
        let report = world.verify(copy.path(), &[]).await.unwrap();
        assert!(report.holds(), "{step:?} {report:?}");
        assert_eq!(report.logs[0].not_covered_yet, 0, "{step:?}");
    }
}
