//! Tests digests that state an erasure.

use super::*;
use crate::digest::{Erasure, LogDigest};

fn erasure() -> Erasure {
    Erasure {
        operator: "ann".to_owned(),
        reason: "end of contract".to_owned(),
        files: 6,
        records: 24,
        project_items: 90,
        project_objects: 12,
    }
}

fn expected_of(log: &TestLog<'_>, at: usize) -> ExpectedDigest {
    ExpectedDigest {
        name: log.digests[at].name.clone(),
        sha256: log.digests[at].sha256.clone(),
    }
}

/// Three digests, and an erasure as the fourth. The files and digests before are still there.
async fn erased<'a>(root: &'a Path, key: &'a Key) -> (TestLog<'a>, Vec<String>, Vec<String>) {
    let (mut log, files, mut digests) = three_hours(root, key).await;
    log.waiting.clear();
    fs::remove_file(log.path(&files[5])).unwrap();
    log.erasure = Some(erasure());
    digests.push(log.digest().await);
    (log, files, digests)
}

fn remove_all(log: &TestLog<'_>, names: &[String]) {
    for name in names {
        let _ = fs::remove_file(log.path(name));
    }
}

#[tokio::test]
async fn erased_log_holds_and_reports_its_erasure() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (mut log, files, digests) = erased(folder.path(), key).await;
    // Files go first, then digests; the log holds at each moment.
    let parts = [&files[..2], &files[2..], &digests[1..2], &digests[..3]];
    for part in parts {
        assert!(check(folder.path(), key, &[]).await.holds(), "before {part:?}");
        remove_all(&log, part);
    }
    let notes = [expected_of(&log, 0), expected_of(&log, 2), expected_of(&log, 3)];
    for name in ["", "log", "log/acme", "log/acme/demo"] {
        let report = check(&folder.path().join(name), key, &notes).await;
        assert_eq!(found(&report), [], "{name}");
        assert!(report.is_complete());
        let [checked] = report.logs.as_slice() else {
            panic!("{report:?}")
        };
        let [reported] = checked.erasures.as_slice() else {
            panic!("{checked:?}")
        };
        assert_eq!((&reported.name, &reported.erasure), (&digests[3], &erasure()));
        assert_eq!((checked.digests, checked.files), (1, 0));
    }
    // A later project of the same name continues the chain, and may be erased, too.
    let later = log.file("2026-11-25", 7, &[]);
    log.digest().await;
    let report = check(folder.path(), key, &notes).await;
    assert_eq!((found(&report), report.logs[0].files), (Vec::new(), 1));
    fs::remove_file(log.path(&later)).unwrap();
    let report = check(folder.path(), key, &notes).await;
    assert_eq!(found(&report), [(Fault::Removed, later.clone())]);
    log.erasure = Some(erasure());
    let last = log.digest().await;
    fs::remove_file(log.path(&log.digests[4].name)).unwrap();
    let report = check(folder.path(), key, &notes).await;
    assert_eq!((found(&report), report.logs[0].erasures.len()), (Vec::new(), 2));
    assert_eq!(report.logs[0].last_digest.as_ref().unwrap().name, last);
}

#[tokio::test]
async fn erasure_excuses_nothing_that_came_after_it() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (mut log, _, digests) = erased(folder.path(), key).await;
    let later = log.file("2026-11-25", 7, &[]);
    let of_later = log.digest().await;
    let last = log.digest().await;
    fs::remove_file(log.path(&of_later)).unwrap();
    let report = check(folder.path(), key, &[]).await;
    let gap = "log/acme/demo/digests/events/0000000004".to_owned();
    assert_eq!(found(&report), [(Fault::Removed, gap)]);
    assert_eq!(report.logs[0].unproven, 1);
    // The removal of the erasure itself breaks the chain.
    write(&log.path(&of_later), log.digests[4].text.as_bytes());
    fs::remove_file(log.path(&digests[3])).unwrap();
    let gap = "log/acme/demo/digests/events/0000000003".to_owned();
    assert_eq!(
        found(&check(folder.path(), key, &[]).await)[0],
        (Fault::Removed, gap)
    );
    assert!(log.path(&later).exists() && log.path(&last).exists());
}

#[tokio::test]
async fn forged_erasure_excuses_nothing() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, digests) = erased(folder.path(), key).await;
    remove_all(&log, &files);
    remove_all(&log, &digests[..3]);
    let signed = log.digests[3].text.clone();
    let [header, payload, signature] = signed.split('.').collect::<Vec<_>>()[..] else {
        panic!("{signed}")
    };
    let mut other = TestLog::new(folder.path(), key, events_of("acme", "demo2"));
    other.erasure = Some(erasure());
    let of_other = other.digest().await;
    let of_other = fs::read_to_string(log.path(&of_other)).unwrap();
    let unsigned = format!("{header}.{payload}.");
    let by_another_key = {
        let text = fs::read(log.path(&digests[3])).unwrap();
        let digest: LogDigest = key.public().open(&text).ok().unwrap().digest;
        crate::digest::sign(&Key::new(), &digest).await.unwrap().text
    };
    let changed = format!("{header}.{}A.{signature}", &payload[..payload.len() - 1]);
    for forged in [unsigned, by_another_key, changed, of_other, "erased".to_owned()] {
        write(&log.path(&digests[3]), forged.as_bytes());
        let report = check(&folder.path().join("log/acme/demo"), key, &[expected_of(&log, 2)]).await;
        let findings = found(&report);
        assert!(
            findings.contains(&(Fault::Changed, digests[3].clone())),
            "{forged}: {findings:?}"
        );
        assert!(
            findings.contains(&(Fault::Removed, digests[2].clone())),
            "{forged}: {findings:?}"
        );
        assert!(report.logs[0].erasures.is_empty());
    }
    write(&log.path(&digests[3]), signed.as_bytes());
    assert!(check(folder.path(), key, &[]).await.holds());
}

#[tokio::test]
async fn noted_digest_that_the_erasure_does_not_name_is_a_fault() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, digests) = erased(folder.path(), key).await;
    remove_all(&log, &files);
    remove_all(&log, &digests[..3]);
    let noted = expected_of(&log, 2);
    let named = |from: &str, to: &str| ExpectedDigest {
        name: noted.name.replace(from, to),
        ..noted.clone()
    };
    let other_hash = ExpectedDigest {
        sha256: "0".repeat(64),
        ..noted.clone()
    };
    for expected in [
        other_hash,
        named("demo", "demo2"),
        named("0000000002", "0000000005"),
        named("events", "audit"),
    ] {
        let name = expected.name.clone();
        let report = check(folder.path(), key, std::slice::from_ref(&expected)).await;
        assert_eq!(found(&report), [(Fault::Removed, name)]);
    }
}

#[tokio::test]
async fn file_from_before_the_erasure_that_no_digest_lists_is_a_fault() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, digests) = erased(folder.path(), key).await;
    remove_all(&log, &digests[..3]);
    remove_all(&log, &files[1..]);
    let report = check(folder.path(), key, &[]).await;
    assert_eq!(found(&report), [(Fault::Added, files[0].clone())]);
    assert!(report.findings[0].detail.contains("ops tenant erase"));
}
