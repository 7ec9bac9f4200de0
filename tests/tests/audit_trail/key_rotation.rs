//! Tests that the key of the log's digests is replaced, while the runner runs: the log and a copy hold across
//! the change, and a replaced key signs nothing any more.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tests::samples::prompt;
use tests::{Finished, Operator, Service};

const ASSURANCE: &str = "Everything is as it was signed.";
/// Variable that names the step; see `Step` in `shared/event-log`. 106: a digest is signed, and not written.
const CRASH_AT: &str = "MILLRACE_CRASH_AT";
const DIGEST_SIGNED: &str = "106";

struct World {
    service: Service,
    operator: Operator,
    token: String,
}

impl World {
    async fn start() -> Self {
        let service = Service::start_local().await;
        let operator = service.operator();
        let token = operator.token(&["--roles", "developer,project_admin"]);
        Self {
            service,
            operator,
            token,
        }
    }

    /// Makes a change, and signs a digest of its audit record.
    async fn sign(&self, name: &str) {
        let created = self.service.post(&self.token, "/prompts", &prompt(name)).await;
        created.expect_status(201);
        self.operator.json(&["audit", "archive", "--sign"]);
    }

    /// Writes the keys that `ops audit key` prints to a file.
    fn keys(&self, name: &str) -> PathBuf {
        let printed = self.operator.run(&["audit", "key"]).expect_success();
        let path = self.service.folder().join(name);
        fs::write(&path, printed.stdout).unwrap();
        path
    }

    fn verify(&self, arguments: &[&str]) -> Finished {
        self.operator.run(&[&["audit", "verify"], arguments].concat())
    }

    /// Copies the log, without the data directory's keys and records.
    fn copy(&self, name: &str) -> PathBuf {
        let (from, to) = (
            self.service.data_dir().join("objects/millrace-data/log"),
            self.service.folder().join(name),
        );
        copy(&from, &to);
        to
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns a file with a block of a file of keys.
fn block(keys: &Path, number: usize) -> PathBuf {
    let text = fs::read_to_string(keys).unwrap();
    let block = text
        .split_inclusive("-----END PUBLIC KEY-----\n")
        .nth(number)
        .unwrap();
    let path = keys.with_extension(format!("{number}.pem"));
    fs::write(&path, block).unwrap();
    path
}

#[track_caller]
fn assert_holds(verified: &Finished) {
    assert!(
        verified.code == Some(0) && verified.stdout.contains(ASSURANCE),
        "{verified:?}"
    );
}

#[track_caller]
fn assert_fails(verified: &Finished, said: &str) {
    assert!(
        verified.code == Some(1) && verified.stdout.contains(said) && !verified.stdout.contains(ASSURANCE),
        "{verified:?}"
    );
}

#[tokio::test]
async fn log_of_two_keys_holds_whole_and_as_a_copy_locally() {
    let world = World::start().await;
    world.sign("before").await;
    let old = world.keys("old.pem");
    let notes = world.service.folder().join("notes.txt");
    assert_holds(&world.verify(&["--notes", text(&notes)]));
    let copy_before = world.copy("copy-before");

    let rotated = world.operator.json(&["audit", "key", "--rotate"]);
    let keys = rotated["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 2, "{rotated}");
    assert_eq!(rotated["public_key"], keys[0]["public_key"]);
    assert_eq!(keys[1]["public_key"], fs::read_to_string(&old).unwrap().as_str());
    // Each log has a digest of the new key at once.
    assert_holds(&world.verify(&["--notes", text(&notes)]));
    world.sign("after").await;
    assert_holds(&world.verify(&[]));

    let copy = world.copy("copy");
    let both = world.keys("both.pem");
    let new = block(&both, 0);
    let (folder, both, new, old) = (text(&copy), text(&both), text(&new), text(&old));
    assert_holds(&world.verify(&[folder, "--key", both, "--notes", text(&notes)]));
    assert_holds(&world.verify(&[folder, "--key", new, "--key", old]));
    assert_fails(
        &world.verify(&[folder, "--key", new]),
        "none of the keys of this check",
    );
    assert_fails(
        &world.verify(&[folder, "--key", old]),
        "none of the keys of this check",
    );
    assert_fails(
        &world.verify(&[folder, "--key", old, "--key", new]),
        "must be signed with the current key",
    );
    // What was signed before the change holds with the key of then, and not as the present state.
    let before = text(&copy_before);
    assert_holds(&world.verify(&[before, "--key", old]));
    assert_fails(
        &world.verify(&[before, "--key", both]),
        "audit archive --sign --all-logs",
    );
    assert_eq!(world.operator.json(&["check"])["findings"], serde_json::json!([]));
}

#[tokio::test]
async fn rotation_that_dies_is_ended_by_the_next_digests_locally() {
    let mut world = World::start().await;
    world.sign("before").await;
    let died = world
        .operator
        .run_with(&["audit", "key", "--rotate"], &[(CRASH_AT, DIGEST_SIGNED)]);
    assert_eq!(died.code, None, "{died:?}");
    world.service.restart();
    assert_fails(&world.verify(&[]), "");
    world.operator.json(&["audit", "archive", "--sign", "--all-logs"]);
    assert_holds(&world.verify(&[]));
    let keys = world.operator.json(&["audit", "key"]);
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(2), "{keys}");
}

/// A backup brings the replaced keys along.
#[tokio::test]
async fn restored_backup_holds_with_the_keys_of_both_locally() {
    let world = World::start().await;
    world.sign("before").await;
    world.operator.json(&["audit", "key", "--rotate"]);
    world.operator.json(&["service-key", "--rotate"]);
    let (file, folder) = (
        world.service.folder().join("backup.tar.zst"),
        world.service.folder().join("restored"),
    );
    world.operator.run(&["backup", text(&file)]).expect_success();
    let restored = Operator::new(&folder);
    restored.run(&["restore", text(&file)]).expect_success();
    assert_holds(&restored.run(&["audit", "verify"]));
    let printed = |operator: &Operator| -> Value { operator.json(&["service-key"]) };
    assert_eq!(printed(&restored), printed(&world.operator));
}

#[test]
fn key_of_a_deployed_stage_is_not_rotated_here() {
    let folder = tempfile::tempdir().unwrap();
    for command in [&["audit", "key"][..], &["service-key"]] {
        let arguments = [command, &["--rotate", "--deployed"]].concat();
        let refused = Operator::new(folder.path()).run(&arguments).expect_refusal();
        assert!(refused.stderr.contains("docs/runbook.md"), "{refused:?}");
    }
}
