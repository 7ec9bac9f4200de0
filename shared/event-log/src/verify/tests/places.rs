//! Tests where objects may be: below a log, nothing but its own objects holds, and each log is that of its
//! folder.

use std::fs;
use std::path::Path;

use super::{NOW, check, found, three_hours};
use crate::testing::{Key, TestLog, events_of, write};
use crate::verify::{Fault, LogCopy, verify};

/// Names that no object of a log has, below the folder of a day's kind; a glob of some reader takes each.
const ODD: [&str; 10] = [
    "evil",
    "part-0.parq",
    "part-0.snappy",
    "evil.parquet.gz",
    "x.parquet%20",
    "x%2Eparquet",
    "x.parquet.object",
    "2026-11-24/events/0197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90.parquet",
    "folder/evil",
    "1/2/3/4/5/6/7/8/9/10/11/12/13/14/evil.parquet",
];

#[tokio::test]
async fn a_file_below_a_log_is_its_own_or_a_fault() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, ..) = three_hours(folder.path(), key).await;
    let below = [
        "2026-11-24/events",
        "2026-11-24/other",
        "digests/events",
        "digests",
        "folder",
    ];
    // The last is a copy of a project's folder alone, whose path tells nothing.
    let project = tempfile::tempdir().unwrap();
    let roots = ["", "log", "log/acme", "log/acme/demo"].map(|name| folder.path().join(name));
    for odd in ODD {
        for place in below {
            let path = log.path(&format!("log/acme/demo/{place}/{odd}"));
            write(&path, b"forged");
            for root in &roots {
                let report = check(root, key, &[]).await;
                let expected = (Fault::Added, path.display().to_string());
                assert_eq!(found(&report), [expected], "{}", root.display());
            }
            let moved = project.path().join("copy");
            fs::rename(log.path("log/acme/demo"), &moved).unwrap();
            let report = check(&moved, key, &[]).await;
            let expected = (Fault::Added, moved.join(place).join(odd).display().to_string());
            assert_eq!(found(&report), [expected]);
            fs::rename(&moved, log.path("log/acme/demo")).unwrap();
            fs::remove_file(&path).unwrap();
        }
    }
    for ordinary in ["log/.DS_Store", "log/acme/demo/2026-11-24/events/.DS_Store"] {
        write(&log.path(ordinary), b"of a desktop");
    }
    assert!(check(folder.path(), key, &[]).await.holds());
}

#[tokio::test]
async fn a_file_beside_the_folders_of_logs_is_none_of_theirs() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, ..) = three_hours(folder.path(), key).await;
    let account = tempfile::tempdir().unwrap();
    fs::rename(log.path("log/acme/demo"), account.path().join("demo")).unwrap();
    write(&account.path().join("notes.txt"), b"of the auditor");
    write(&folder.path().join("notes.txt"), b"of the auditor");
    assert!(check(account.path(), key, &[]).await.holds());
    // Days without any valid object show that the folder is that of a log.
    let odd = account.path().join("prod/2026-11-24/events/part-0");
    write(&odd, b"forged");
    let report = check(account.path(), key, &[]).await;
    assert_eq!(found(&report), [(Fault::Added, odd.display().to_string())]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_below_a_log_is_a_fault() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, files, _) = three_hours(folder.path(), key).await;
    let elsewhere = tempfile::tempdir().unwrap();
    write(&elsewhere.path().join("events/evil.parquet"), b"forged");
    let missing = elsewhere.path().join("missing");
    for (name, target) in [
        ("log/acme/demo/2026-11-26", elsewhere.path()),
        ("log/acme/demo/2026-11-24/events/folder", elsewhere.path()),
        ("log/acme/other", elsewhere.path()),
        ("log/acme/demo/2026-11-24/events/x.parquet", &*missing),
        ("log/acme/demo/2026-11-24/events/y", &*log.path(&files[0])),
    ] {
        let path = log.path(name);
        std::os::unix::fs::symlink(target, &path).unwrap();
        for root in ["", "log", "log/acme"] {
            let report = check(&folder.path().join(root), key, &[]).await;
            assert_eq!(
                found(&report),
                [(Fault::Added, path.display().to_string())],
                "{root}"
            );
        }
        fs::remove_file(&path).unwrap();
    }
}

#[tokio::test]
async fn a_log_in_the_folder_of_another_does_not_hold() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let (log, ..) = three_hours(folder.path(), key).await;
    let faults = async |root: &Path| {
        let report = check(root, key, &[]).await;
        let findings = found(&report);
        findings
            .iter()
            .filter(|(fault, _)| *fault == Fault::Changed)
            .count()
    };
    fs::rename(log.path("log/acme/demo"), log.path("log/acme/prod")).unwrap();
    for root in ["", "log", "log/acme", "log/acme/prod", "log/acme/../acme/prod"] {
        assert_eq!(faults(&folder.path().join(root)).await, 3, "{root}");
    }
    fs::rename(log.path("log/acme/prod"), log.path("log/acme/demo")).unwrap();
    fs::rename(log.path("log/acme"), log.path("log/other")).unwrap();
    for root in ["", "log", "log/other", "log/other/demo"] {
        assert_eq!(faults(&folder.path().join(root)).await, 3, "{root}");
    }
    // The path tells no account, but two of them are not one.
    let account = tempfile::tempdir().unwrap();
    fs::rename(log.path("log/other/demo"), account.path().join("demo")).unwrap();
    let mut second = TestLog::new(folder.path(), key, events_of("second", "data"));
    second.file("2026-11-24", 1, &[]);
    second.digest().await;
    assert_eq!(faults(account.path()).await, 0);
    fs::rename(log.path("log/second/data"), account.path().join("data")).unwrap();
    assert!(faults(account.path()).await > 0);
}

#[tokio::test]
async fn a_project_or_account_may_be_called_like_the_folder_of_all() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let mut log = TestLog::new(folder.path(), key, events_of("log", "log"));
    log.file("2026-11-24", 1, &[]);
    log.digest().await;
    for root in ["", "log", "log/log", "log/log/log"] {
        let report = check(&folder.path().join(root), key, &[]).await;
        assert!(report.holds() && report.logs.len() == 1, "{root}: {report:?}");
    }
}

#[tokio::test]
async fn escaped_names_of_a_folder_are_read_as_those_of_its_owner() {
    let (folder, key) = (tempfile::tempdir().unwrap(), Key::shared());
    let mut log = TestLog::new(folder.path(), key, events_of("Acme", "demo"));
    log.file("2026-11-24", 1, &[]);
    log.digest().await;
    fs::rename(log.path("log/Acme"), log.path("log/%41cme")).unwrap();
    let root = log.path("log/%41cme/demo");
    let copy = LogCopy::of_folder(&root, |path| Some(path.to_str()?.replace("%41", "A"))).unwrap();
    let report = verify(&copy, &key.public(), &[], NOW.parse().unwrap(), &mut |_| {}).await;
    assert!(report.unwrap().is_complete());
}
