//! Tests logs whose key was replaced.

use std::fs;
use std::path::Path;

use super::{NOW, copy_of, found};
use crate::digest::PublicKeys;
use crate::testing::{Key, TestLog, events_of, write};
use crate::verify::{ExpectedDigest, Fault, Report, verify};

async fn check_with(root: &Path, keys: &[&Key], expected: &[ExpectedDigest]) -> Report {
    let keys: Vec<_> = keys.iter().map(|key| key.der()).collect();
    let keys = PublicKeys::new(&keys).unwrap();
    let (copy, now) = (copy_of(root).unwrap(), NOW.parse().unwrap());
    verify(&copy, &keys, expected, now, &mut |_| {}).await.unwrap()
}

/// A log with two digests of one key and two of another.
async fn rotated<'a>(root: &'a Path, old: &'a Key, new: &'a Key) -> TestLog<'a> {
    let mut log = TestLog::new(root, old, events_of("acme", "demo"));
    for key in [old, old, new, new] {
        log.key = key;
        log.file("2026-11-24", 2, &[]);
        log.digest().await;
    }
    log
}

#[tokio::test]
async fn log_of_two_keys_holds_with_both_and_the_current_one_first() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new, other) = (Key::new(), Key::new(), Key::shared());
    let log = rotated(folder.path(), &old, &new).await;
    let report = check_with(folder.path(), &[&new, &old], &[]).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!((report.logs[0].digests, report.logs[0].files), (4, 4));
    assert!(
        check_with(folder.path(), &[&new, other, &old], &[])
            .await
            .is_complete()
    );

    let name = |at: usize| log.digests[at].name.clone();
    let of_old = [(Fault::Changed, name(0)), (Fault::Changed, name(1))];
    assert_eq!(found(&check_with(folder.path(), &[&new], &[]).await)[..2], of_old);
    let of_new = [(Fault::Changed, name(2)), (Fault::Changed, name(3))];
    assert_eq!(found(&check_with(folder.path(), &[&old], &[]).await)[..2], of_new);
    assert_eq!(
        found(&check_with(folder.path(), &[&old, &new], &[]).await),
        [(
            Fault::Removed,
            "log/acme/demo/digests/events/0000000004".to_owned()
        )]
    );
}

#[tokio::test]
async fn copy_from_before_the_rotation_holds_with_the_key_of_then() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Key::new(), Key::new());
    let log = rotated(folder.path(), &old, &new).await;
    for digest in &log.digests[2..] {
        fs::remove_file(log.path(&digest.name)).unwrap();
    }
    // Their files are as young as those that no digest covers yet.
    assert!(check_with(folder.path(), &[&old], &[]).await.holds());
    assert_eq!(
        found(&check_with(folder.path(), &[&new, &old], &[]).await),
        [(
            Fault::Removed,
            "log/acme/demo/digests/events/0000000002".to_owned()
        )]
    );
}

/// The attacker has a copy, its place in the bucket, and the private half of the replaced key.
#[tokio::test]
async fn holder_of_a_replaced_key_changes_nothing_unnoticed() {
    let (old, new) = (Key::new(), Key::new());
    // Digests that the attacker keeps, and how many of the replaced key follow them.
    for (kept, forged) in [(0, 1), (0, 4), (1, 3), (2, 2), (3, 1), (4, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let mut log = rotated(folder.path(), &old, &new).await;
        for digest in log.digests.split_off(kept) {
            fs::remove_file(log.path(&digest.name)).unwrap();
        }
        fs::remove_dir_all(log.path("log/acme/demo/2026-11-24")).unwrap();
        for digest in &log.digests {
            write(&log.path(&digest.name), digest.text.as_bytes());
        }
        log.key = &old;
        for _ in 0..forged {
            log.file("2026-11-24", 2, &[]);
            log.digest().await;
        }
        let report = check_with(folder.path(), &[&new, &old], &[]).await;
        assert!(!report.holds(), "{kept} kept, {forged} forged");
    }
    // A forged digest before those of the new key does not fit the hash in them.
    let folder = tempfile::tempdir().unwrap();
    let log = rotated(folder.path(), &old, &new).await;
    let mut forged = TestLog::new(log.root, &old, log.log.clone());
    forged.file("2026-11-24", 1, &[]);
    assert_eq!(forged.digest().await, log.digests[0].name);
    let report = check_with(folder.path(), &[&new, &old], &[]).await;
    assert_eq!(found(&report)[0], (Fault::Changed, log.digests[0].name.clone()));
}

#[tokio::test]
async fn digest_counts_with_the_key_that_it_names_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Key::new(), Key::new());
    let log = rotated(folder.path(), &old, &new).await;
    let last = &log.digests[3];
    let (_, rest) = last.text.split_once('.').unwrap();
    let (header, _) = log.digests[0].text.split_once('.').unwrap();
    write(&log.path(&last.name), format!("{header}.{rest}").as_bytes());
    let report = check_with(folder.path(), &[&new, &old], &[]).await;
    let finding = report.findings.first().unwrap();
    assert_eq!((finding.fault, &finding.name), (Fault::Changed, &last.name));
    assert!(finding.detail.contains("does not fit the key"), "{finding:?}");
}
