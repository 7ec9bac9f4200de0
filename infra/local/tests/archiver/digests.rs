//! Tests the chain of digests, and the verification of a copy.

use event_log::digest::PublicKeys;
use event_log::verify::{ExpectedDigest, Fault};
use platform::signing::SigningKey as _;

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

/// Writes two hours of events and their digests.
async fn two_digests(world: &World) {
    for part in 0..2 {
        world.events(part * 3..part * 3 + 3, "2026-11-24T12:00:00Z").await;
        world.pass().await;
        world.advance_minutes(60);
        world.pass().await;
    }
    assert_eq!(world.head().await.next_digest, 2);
}

#[tokio::test]
async fn idle_log_gets_a_digest_of_a_new_key() {
    let world = World::new().await;
    two_digests(&world).await;
    let old = world.key.public_key().await.unwrap();
    let before = world.copy().await;
    world.key.rotate(world.clock.now()).unwrap();
    let new = world.key.public_key().await.unwrap();

    // The copy from before holds with the old key; the new one has signed nothing of it.
    let with = |keys: &[&Vec<u8>]| {
        let keys: Vec<_> = keys.iter().copied().cloned().collect();
        PublicKeys::new(&keys).unwrap()
    };
    let report = world
        .verify_with(before.path(), &with(&[&old]), &[])
        .await
        .unwrap();
    assert!(report.is_complete(), "{report:?}");
    let report = world
        .verify_with(before.path(), &with(&[&new, &old]), &[])
        .await
        .unwrap();
    let [finding] = report.findings.as_slice() else {
        panic!("{report:?}")
    };
    assert_eq!(
        (finding.fault, finding.name.as_str()),
        (Fault::Removed, "log/acme/demo/digests/events/0000000002")
    );

    world.advance_minutes(300);
    assert_eq!(world.pass().await.digests, 1);
    assert_eq!(world.pass().await.digests, 0);
    let copy = world.copy().await;
    let report = world.verify(copy.path(), &[]).await.unwrap();
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(report.logs[0].digests, 3);
    assert_eq!(
        report.logs[0].last_digest.as_ref().unwrap().key,
        platform::signing::fingerprint(&new)
    );
    // Each key is needed, and the first is the current one.
    for keys in [with(&[&old]), with(&[&new]), with(&[&old, &new])] {
        assert!(!world.verify_with(copy.path(), &keys, &[]).await.unwrap().holds());
    }
    // Later digests are of the new key, too.
    world.events(6..9, "2026-11-24T20:00:00Z").await;
    world.pass().await;
    world.advance_minutes(60);
    assert_eq!(world.pass().await.digests, 1);
    let copy = world.copy().await;
    assert!(world.verify(copy.path(), &[]).await.unwrap().is_complete());
}

#[tokio::test]
async fn log_whose_head_names_no_key_is_signed_again_only_with_another_key() {
    let world = World::new().await;
    two_digests(&world).await;
    for (is_rotated, digests) in [(false, 0), (true, 1)] {
        if is_rotated {
            world.key.rotate(world.clock.now()).unwrap();
        }
        let head = world.head().await;
        let mut unnamed = head.clone();
        unnamed.revision += 1;
        unnamed.last_digest.as_mut().unwrap().key = None;
        assert!(
            world
                .logs
                .commit(&world.log, &head, &[], &[], unnamed)
                .await
                .unwrap()
        );
        assert_eq!(world.pass().await.digests, digests);
    }
    let copy = world.copy().await;
    assert!(world.verify(copy.path(), &[]).await.unwrap().is_complete());
}
