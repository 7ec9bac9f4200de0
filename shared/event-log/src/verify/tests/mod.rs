mod erasures;
mod keys;
mod places;

use std::fs;
use std::path::Path;

use platform::ids;
use proptest::prelude::*;

use super::{ExpectedDigest, Fault, LogCopy, Report, verify};
use crate::testing::{Key, TestLog, events_of, write};

/// A few minutes after the last file of [`three_hours`].
const NOW: &str = "2026-11-24T13:20:00Z";

fn copy_of(root: &Path) -> platform::Result<LogCopy> {
    LogCopy::of_folder(root, |_| None)
}

async fn check(root: &Path, key: &Key, expected: &[ExpectedDigest]) -> Report {
    check_at(NOW, root, key, expected).await
}

async fn check_at(now: &str, root: &Path, key: &Key, expected: &[ExpectedDigest]) -> Report {
    let (copy, now) = (copy_of(root).unwrap(), now.parse().unwrap());
    verify(&copy, &key.public(), expected, now, &mut |_| {})
        .await
        .unwrap()
}

fn found(report: &Report) -> Vec<(Fault, String)> {
    let findings = report.findings.iter();
    findings
        .map(|finding| (finding.fault, finding.name.clone()))
        .collect()
}

/// Three digests over six files, one of which replaces two.
async fn three_hours<'a>(root: &'a Path, key: &'a Key) -> (TestLog<'a>, Vec<String>, Vec<String>) {
    let mut log = TestLog::new(root, key, events_of("acme", "demo"));
    let mut files = vec![log.file("2026-11-23", 4, &[]), log.file("2026-11-24", 2, &[])];
    let mut digests = vec![log.digest().await];
    files.push(log.file("2026-11-24", 3, &[]));
    digests.push(log.digest().await);
    files.push(log.file("2026-11-24", 5, &files[1..3]));
    files.push(log.file("2026-11-25", 1, &[]));
    digests.push(log.digest().await);
    files.push(log.file("2026-11-25", 9, &[]));
    (log, files, digests)
}

#[tokio::test]
async fn a_log_holds_as_it_was_written_from_each_folder_above_it() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, digests) = three_hours(folder.path(), key).await;
    for name in ["", "log", "log/acme", "log/acme/demo"] {
        let report = check(&folder.path().join(name), key, &[]).await;
        assert_eq!(found(&report), [], "{name}");
        let [checked] = report.logs.as_slice() else {
            panic!("{report:?}")
        };
        assert_eq!((checked.digests, checked.files, checked.records), (3, 5, 15));
        assert_eq!((checked.not_covered_yet, checked.unproven), (1, 0));
        let last = checked.last_digest.clone().unwrap();
        assert_eq!(
            (last.name, last.sha256),
            (digests[2].clone(), log.digests[2].sha256.clone())
        );
    }
    // The collection removes replaced files an hour later.
    for replaced in &files[1..3] {
        fs::remove_file(log.path(replaced)).unwrap();
    }
    assert!(check(folder.path(), key, &[]).await.holds());
}

#[tokio::test]
async fn each_file_that_was_touched_is_named() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, digests) = three_hours(folder.path(), key).await;
    let added = log.log.file_key(
        "2026-11-24",
        &ids::derived_id("2026-11-24T11:00:00Z".parse().unwrap(), "added"),
    );
    write(&log.path(&added), b"forged");
    write(
        &log.path("log/acme/demo/2026-11-24/events/evil.parquet"),
        b"forged",
    );
    write(&log.path("log/acme/evil.parquet"), b"forged");
    write(&log.path("log/acme/demo/.DS_Store"), b"of a desktop");
    write(&log.path(&files[0]), b"altered");
    fs::remove_file(log.path(&files[4])).unwrap();
    fs::remove_file(log.path(&digests[1])).unwrap();
    let report = check(folder.path(), key, &[]).await;
    assert_eq!(
        found(&report),
        [
            (
                Fault::Added,
                folder.path().join("log/acme/evil.parquet").display().to_string()
            ),
            (Fault::Changed, files[0].clone()),
            (Fault::Added, added),
            (
                Fault::Added,
                "log/acme/demo/2026-11-24/events/evil.parquet".to_owned()
            ),
            (
                Fault::Removed,
                "log/acme/demo/digests/events/0000000001".to_owned()
            ),
            (Fault::Removed, files[4].clone()),
        ]
    );
    assert_eq!((report.logs[0].unproven, report.logs[0].not_covered_yet), (1, 1));
}

#[tokio::test]
async fn the_digest_that_was_noted_must_still_be_there() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, _, digests) = three_hours(folder.path(), key).await;
    let expected = |at: usize| {
        let digest = &log.digests[at];
        format!("{}={}", digest.name, digest.sha256)
            .parse::<ExpectedDigest>()
            .unwrap()
    };
    assert!(
        check(folder.path(), key, &[expected(0), expected(2)])
            .await
            .holds()
    );
    fs::remove_file(log.path(&digests[2])).unwrap();
    // Without the noted digest, the end of a chain may be missing unnoticed.
    assert!(check(folder.path(), key, &[]).await.holds());
    assert_eq!(
        found(&check(folder.path(), key, &[expected(2)]).await),
        [(Fault::Removed, digests[2].clone())]
    );
    let other = ExpectedDigest {
        sha256: "0".repeat(64),
        ..expected(0)
    };
    assert_eq!(
        found(&check(folder.path(), key, &[other]).await),
        [(Fault::Changed, digests[0].clone())]
    );
    assert!("name=12".parse::<ExpectedDigest>().is_err());
}

#[tokio::test]
async fn no_digest_stands_in_for_another() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, _, digests) = three_hours(folder.path(), key).await;
    let mut other = TestLog::new(folder.path(), key, events_of("acme", "other"));
    other.file("2026-11-24", 4, &[]);
    let of_other = other.digest().await;
    let original = fs::read(log.path(&digests[1])).unwrap();
    let names = |report: &Report| {
        report
            .findings
            .first()
            .map(|finding| (finding.fault, finding.name.clone()))
    };

    fs::copy(log.path(&of_other), log.path(&digests[0])).unwrap();
    assert_eq!(
        names(&check(folder.path(), key, &[]).await),
        Some((Fault::Changed, digests[0].clone()))
    );

    // The first two digests are swapped.
    write(&log.path(&digests[0]), &original);
    write(&log.path(&digests[1]), log.digests[0].text.as_bytes());
    let report = check(folder.path(), key, &[]).await;
    assert_eq!(
        found(&report)[..2],
        [
            (Fault::Changed, digests[0].clone()),
            (Fault::Changed, digests[1].clone())
        ]
    );

    write(&log.path(&digests[0]), log.digests[0].text.as_bytes());
    write(&log.path(&digests[1]), &original[..original.len() - 1]);
    assert_eq!(
        names(&check(folder.path(), key, &[]).await),
        Some((Fault::Changed, digests[1].clone()))
    );

    write(&log.path(&digests[1]), &original);
    let second = digests[1].replace("T12", "T13");
    assert_ne!(second, digests[1]);
    write(&log.path(&second), b"x.y.z");
    assert_eq!(
        found(&check(folder.path(), key, &[]).await),
        [(Fault::Added, second.clone())]
    );
    fs::remove_file(log.path(&second)).unwrap();
    assert!(check(folder.path(), key, &[]).await.holds());
}

#[tokio::test]
async fn another_key_signs_nothing() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (_, _, digests) = three_hours(folder.path(), key).await;
    let report = check(folder.path(), &Key::new(), &[]).await;
    let expected: Vec<_> = digests.into_iter().map(|name| (Fault::Changed, name)).collect();
    assert_eq!(found(&report), expected);
    assert_eq!(report.logs[0].unproven, 6);
}

#[test]
fn a_folder_without_a_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("stores/acme/demo/x.bin"), b"x");
    let refused = copy_of(folder.path()).err().unwrap();
    assert!(refused.message().starts_with("There is no log in "), "{refused}");
    assert!(copy_of(&folder.path().join("missing")).is_err());
}

#[tokio::test]
async fn a_file_without_a_digest_is_no_fault_for_an_hour_and_a_half() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, _) = three_hours(folder.path(), key).await;
    let young = check(folder.path(), key, &[]).await;
    assert!(young.holds() && !young.is_complete());
    let last = (Fault::Added, files[5].clone());
    assert_eq!(
        found(&check_at("2026-11-24T14:40:00Z", folder.path(), key, &[]).await),
        []
    );
    let old = check_at("2026-11-24T14:41:00Z", folder.path(), key, &[]).await;
    assert_eq!(found(&old), std::slice::from_ref(&last));

    // An id of the future, or an old file with the id of a young one.
    let id = |time: &str| {
        log.log
            .file_key("2026-11-24", &ids::derived_id(time.parse().unwrap(), "added"))
    };
    let future = id("2027-11-24T13:15:00Z");
    write(&log.path(&future), b"forged");
    let report = check(folder.path(), key, &[]).await;
    assert_eq!(found(&report), [(Fault::Added, future.clone())]);
    fs::remove_file(log.path(&future)).unwrap();
    let renamed = id("2026-11-24T13:15:00Z");
    write(&log.path(&renamed), b"forged");
    let times = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    let file = fs::File::options().write(true).open(log.path(&renamed)).unwrap();
    file.set_times(times).unwrap();
    assert_eq!(
        found(&check(folder.path(), key, &[]).await),
        [(Fault::Added, renamed.clone())]
    );
    fs::remove_file(log.path(&renamed)).unwrap();

    let mut log = log;
    log.digest().await;
    let report = check_at("2027-01-01T00:00:00Z", folder.path(), key, &[]).await;
    assert!(report.is_complete(), "{report:?}");
}

#[tokio::test]
async fn a_log_with_files_and_no_digest_is_a_fault() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, _, digests) = three_hours(folder.path(), key).await;
    for digest in &digests {
        fs::remove_file(log.path(digest)).unwrap();
    }
    for name in ["", "log/acme"] {
        let report = check(&folder.path().join(name), key, &[]).await;
        let expected = (Fault::Removed, "log/acme/demo/digests/events".to_owned());
        assert_eq!(found(&report), [expected], "{name}");
        assert_eq!(report.logs[0].unproven, 6);
    }
}

#[tokio::test]
async fn names_of_a_store_of_files_are_read_as_keys() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, digests) = three_hours(folder.path(), key).await;
    for digest in &digests {
        let path = log.path(digest);
        let name = path.file_name().unwrap().to_str().unwrap().replace('T', "%54");
        fs::rename(&path, path.with_file_name(format!("{name}.object"))).unwrap();
    }
    let copy = LogCopy::of_folder(folder.path(), |path| {
        let text = path.to_str().unwrap();
        Some(text.strip_suffix(".object")?.replace("%54", "T"))
    });
    let copy = copy.unwrap();
    let now = NOW.parse().unwrap();
    let report = verify(&copy, &key.public(), &[], now, &mut |_| {}).await.unwrap();
    assert_eq!((found(&report), report.logs[0].digests), (Vec::new(), 3));
    // Both names of one digest.
    let path = log.path(&digests[1]);
    write(&path, log.digests[1].text.as_bytes());
    let copy = LogCopy::of_folder(folder.path(), |path| {
        let text = path.to_str().unwrap();
        Some(text.strip_suffix(".object")?.replace("%54", "T"))
    });
    let report = verify(&copy.unwrap(), &key.public(), &[], now, &mut |_| {})
        .await
        .unwrap();
    assert_eq!(found(&report), [(Fault::Added, path.display().to_string())]);
    assert!(files.iter().all(|file| log.path(file).exists()));
}

/// Kind of tampering with one file.
#[derive(Clone, Copy, Debug)]
enum Tampering {
    Flip(usize),
    Cut(usize),
    Grow,
    Remove,
    Double,
}

fn tampering() -> impl Strategy<Value = (usize, Tampering)> {
    let done = prop_oneof![
        any::<usize>().prop_map(Tampering::Flip),
        any::<usize>().prop_map(Tampering::Cut),
        Just(Tampering::Grow),
        Just(Tampering::Remove),
        Just(Tampering::Double),
    ];
    (any::<usize>(), done)
}

/// Tampers with the file, and returns the expected finding.
fn tamper(log: &TestLog<'_>, name: &str, done: Tampering) -> (Fault, String) {
    let path = log.path(name);
    let mut bytes = fs::read(&path).unwrap();
    match done {
        Tampering::Flip(at) => {
            let at = at % bytes.len();
            bytes[at] ^= 1;
        }
        Tampering::Cut(at) => bytes.truncate(at % bytes.len()),
        Tampering::Grow => bytes.push(b'x'),
        Tampering::Remove => {
            fs::remove_file(&path).unwrap();
            let shown = name.rsplit_once('-').filter(|_| name.contains("/digests/"));
            let shown = shown.map_or(name, |_| &name[..name.find("-2026").unwrap_or(name.len())]);
            return (Fault::Removed, shown.to_owned());
        }
        Tampering::Double => {
            let copy = match name.contains("/digests/") {
                true => name.replace("-2026-", "-2025-"),
                false => {
                    let id = ids::derived_id("2026-11-24T10:00:00Z".parse().unwrap(), "added");
                    log.log.file_key("2026-11-24", &id)
                }
            };
            write(&log.path(&copy), &bytes);
            return (Fault::Added, copy);
        }
    }
    fs::write(path, bytes).unwrap();
    (Fault::Changed, name.to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_tampering_is_the_first_finding((at, done) in tampering()) {
        let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (log, files, digests) = runtime.block_on(three_hours(folder.path(), key));
        // Everything that a digest lists, and all digests; a removal of the last digest goes unnoticed.
        let mut targets: Vec<_> = files[..5].iter().chain(&digests).cloned().collect();
        if matches!(done, Tampering::Remove) {
            targets.pop();
            targets.retain(|name| !files[1..3].contains(name));
        }
        let target = targets[at % targets.len()].clone();
        let expected = tamper(&log, &target, done);
        let report = runtime.block_on(check(folder.path(), key, &[]));
        prop_assert_eq!(found(&report).into_iter().next(), Some(expected));
    }
}
