//! Tests the chain of digests, and the verification of a copy.

use event_log::verify::{ExpectedDigest, Fault};

use crate::world::World;

/// Four hours with three files each, and one without.
async fn hours(world: &World) {
    let archiver = world.archiver();
    for hour in 0..5 {
        for part in 0..3 {
            let at = hour * 9 + part * 3;
            if hour != 2 {
                world.events(at..at + 3, "2026-11-24T12:00:00Z").await;
            }
            archiver.pass(&world.log).await.unwrap();
            world.advance_minutes(20);
        }
    }
    archiver.pass(&world.log).await.unwrap();
}

#[tokio::test]
async fn each_hour_with_files_has_a_digest_that_names_the_one_before() {
    let world = World::new().await;
    hours(&world).await;
    let digests: Vec<_> = world.objects_of_log().await;
    let digests: Vec<_> = digests.iter().filter(|key| key.ends_with(".jws")).collect();
    let names: Vec<_> = digests
        .iter()
        .map(|key| key.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "0000000000-2026-11-24T10.jws",
            "0000000001-2026-11-24T11.jws",
            "0000000002-2026-11-24T13.jws",
            "0000000003-2026-11-24T14.jws"
        ]
    );
    let head = world.head().await;
    assert_eq!((head.next_digest, head.unwritten_digest), (4, None));
    let copy = world.copy().await;
    let report = world.verify(copy.path(), &[]).await.unwrap();
    assert!(report.holds(), "{report:?}");
    let log = &report.logs[0];
    assert_eq!((log.digests, log.records), (4, 36));
    let last = log.last_digest.clone().unwrap();
    assert_eq!(
        Some(&last.sha256),
        head.last_digest.map(|digest| digest.sha256).as_ref()
    );
    let expected = ExpectedDigest {
        name: last.name,
        sha256: last.sha256,
    };
    assert!(
        world
            .verify(copy.path(), std::slice::from_ref(&expected))
            .await
            .unwrap()
            .holds()
    );
    std::fs::remove_file(copy.path().join(&expected.name)).unwrap();
    assert!(!world.verify(copy.path(), &[expected]).await.unwrap().holds());
}

#[tokio::test]
async fn a_file_that_was_touched_in_the_bucket_is_named() {
    let world = World::new().await;
    hours(&world).await;
    let copy = world.copy().await;
    let keys = world.objects_of_log().await;
    let files: Vec<_> = keys.iter().filter(|key| key.ends_with(".parquet")).collect();
    let path = |key: &str| copy.path().join(key);
    let original = std::fs::read(path(files[0])).unwrap();
    let mut altered = original.clone();
    altered[100] ^= 1;
    std::fs::write(path(files[0]), &altered).unwrap();
    let first = |report: &event_log::verify::Report| {
        let first = report.findings.first().unwrap();
        (first.fault, first.name.clone())
    };
    let report = world.verify(copy.path(), &[]).await.unwrap();
    assert_eq!(first(&report), (Fault::Changed, files[0].clone()));

    std::fs::remove_file(path(files[0])).unwrap();
    let report = world.verify(copy.path(), &[]).await.unwrap();
    assert_eq!(first(&report), (Fault::Removed, files[0].clone()));

    std::fs::write(path(files[0]), &original).unwrap();
    let id = platform::ids::derived_id(crate::world::at("2026-11-24T10:15:00Z"), "added");
    let added = world.log.file_key("2026-11-24", &id);
    std::fs::write(path(&added), &original).unwrap();
    let report = world.verify(copy.path(), &[]).await.unwrap();
    assert_eq!(first(&report), (Fault::Added, added));
}
