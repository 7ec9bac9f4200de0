//! Tests that a child reaches only the files of its version or import, whatever code runs in it.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use lake::{Engine, EngineConfig, EngineLimits, Scope};
use serde_json::{Value, json};

use crate::escapes::{ENOSYS, World};
use crate::fixture::{Store, limits};

/// Error of a file that Landlock keeps.
const EACCES: i32 = 13;
/// Attempts by calls that a child has for its own files.
const FILE_CALLS: [&str; 5] = ["create", "list", "make", "open", "remove"];
/// Attempts that are allowed in the folder of an import.
const INSIDE: [&str; 2] = ["list inside", "create inside"];

/// Returns the attempts of a child whose first job is `job`.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration")]
fn attempts(world: &World, job: &Value) -> BTreeMap<String, i32> {
    let settings = json!({ "limits": limits(), "temp": world.folder("temp") });
    std::fs::create_dir(world.folder("temp")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lake-child"));
    child
        .args(["millrace-lake-child", &settings.to_string()])
        .env_clear()
        .envs(std::env::var_os("LD_LIBRARY_PATH").map(|path| ("LD_LIBRARY_PATH", path)));
    let header = json!({ "deadline_ms": 600_000, "job": job }).to_string();
    let mut frame = u32::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    frame.extend([0; 4]);
    frame.extend(header.as_bytes());
    world.attempts(&mut child, &frame)
}

fn is_of_files(name: &str) -> bool {
    let call = name.split_once(' ').map(|(call, _)| call);
    call.is_some_and(|call| FILE_CALLS.contains(&call)) && !name.starts_with("make memory")
}

fn assert_refused(mut attempts: BTreeMap<String, i32>, but: &[&str]) {
    let has_landlock = attempts.remove("landlock") == Some(0);
    let (files, calls): (Vec<_>, Vec<_>) = attempts.iter().partition(|(name, _)| is_of_files(name));
    let passed: Vec<_> = calls.into_iter().filter(|(_, error)| **error != ENOSYS).collect();
    assert!(passed.is_empty(), "{passed:?}");
    assert!(files.len() > 15, "{files:?}");
    let passed = files
        .into_iter()
        .filter(|(name, error)| **error != EACCES && !but.contains(&name.as_str()));
    let passed: Vec<_> = passed.collect();
    assert!(passed.is_empty() || !has_landlock, "{passed:?}");
}

#[test]
fn child_of_a_version_reads_its_files_and_reaches_nothing_else() {
    let world = World::new();
    let files = [world.folder("inside").join("segment.parquet")];
    let attempts = attempts(&world, &json!({ "Bind": { "tables": [], "files": files } }));
    assert_refused(attempts, &[]);
}

#[test]
fn child_of_an_import_writes_in_its_folder_and_reaches_nothing_else() {
    let world = World::new();
    let input = json!({ "folder": world.folder("inside"), "sql": "select 1", "form": "Effect" });
    let attempts = attempts(&world, &json!({ "Folder": input }));
    for name in INSIDE {
        assert_eq!(attempts[name], 0, "{name}");
    }
    assert_refused(attempts, &INSIDE);
}

/// The filter and the loss of privileges hold for a thread only if they came before it.
#[tokio::test]
async fn every_thread_of_a_child_is_fenced() {
    let store = Store::with_orders(limits()).await;
    store.probe().await;
    // A bound child, and a spare one, which may still be on its way to its fence; the next version takes it.
    let children = store.engine.idle_children();
    assert_eq!(children.len(), 2);
    let other = Scope {
        key: "store/other",
        ..store.scope()
    };
    let params = serde_json::Map::new();
    store
        .engine
        .query(other, "select 1", &params, None)
        .await
        .unwrap();
    for id in children {
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
        let mut count = 0;
        for thread in threads {
            let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            assert!(status.contains("Seccomp:\t2\n"), "{status}");
            assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
            count += 1;
        }
        // The worker, the reader, the watcher of the deadline, and one of DuckDB's beside the main thread.
        assert!(count >= 5, "{count}");
        let limits = std::fs::read_to_string(format!("/proc/{id}/limits")).unwrap();
        let cores = limits.lines().find(|line| line.starts_with("Max core file size"));
        assert_eq!(
            cores
                .unwrap()
                .split_whitespace()
                .filter(|word| *word == "0")
                .count(),
            2
        );
    }
}

/// An undumpable process shows its environment to no test, so a program that prints it stands in for the
/// child.
#[tokio::test]
async fn a_child_inherits_no_environment_but_the_loaders_path() {
    let directory = tempfile::tempdir().unwrap();
    let (program, printed) = (
        directory.path().join("child"),
        directory.path().join("child.printed"),
    );
    // The engine starts a second child meanwhile.
    let script = "#!/bin/sh\n/usr/bin/env >\"$0.$$\" && /bin/mv \"$0.$$\" \"$0.printed\"\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = EngineConfig::new(directory.path()).unwrap();
    config.program = program;
    config.library_path = Some("/libraries".into());
    config.limits = EngineLimits::default();
    let scope = Scope {
        account: "acme",
        key: "store/version",
        tables: &[],
        directory: Path::new("/"),
    };
    let ended = Engine::new(config)
        .query(scope, "select 1", &serde_json::Map::new(), None)
        .await;
    assert_eq!(ended.unwrap_err().status(), 422);
    // The shell adds its own.
    let ours = |line: &&str| !["PWD=", "SHLVL=", "_="].iter().any(|own| line.starts_with(own));
    let printed = std::fs::read_to_string(printed).unwrap();
    let mut environment: Vec<_> = printed.lines().filter(ours).collect();
    environment.sort_unstable();
    assert_eq!(
        environment,
        ["LD_LIBRARY_PATH=/libraries", "MIMALLOC_ARENA_RESERVE=0"]
    );
}
