//! Tests a read-only data directory: the runner reports it, and changes nothing in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tests::samples::prompt;
use tests::{Persona, Service, binary};

/// Removes root's right to write read-only files.
const AS_ANYBODY: [&str; 3] = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"];

/// Starts a runner with only the rights of the files' modes.
fn started(data_dir: &Path) -> Output {
    let is_root = fs::metadata(data_dir).unwrap().uid() == 0;
    let [launcher, arguments @ ..] = AS_ANYBODY;
    let mut command = match is_root {
        true => {
            let mut command = Command::new(launcher);
            command.args(arguments).arg(binary("millrace"));
            command
        }
        false => Command::new(binary("millrace")),
    };
    let ended = command.args(["--port", "0", "--data-dir"]).arg(data_dir).output();
    ended.expect("root, who may write everything, starts it by `setpriv`")
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => contents.extend(files(&path)),
            false => drop(contents.insert(path.clone(), fs::read(path).unwrap())),
        }
    }
    contents
}

/// Sets the modes of a folder and everything in it.
fn set_modes(folder: &Path, of_folders: u32, of_files: u32) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => set_modes(&path, of_folders, of_files),
            false => fs::set_permissions(&path, fs::Permissions::from_mode(of_files)).unwrap(),
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(of_folders)).unwrap();
}

#[tokio::test]
async fn a_directory_that_may_only_be_read_is_refused_and_left_alone_locally() {
    let mut service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let answer = service
        .post(&token, "/prompts", &prompt("Kept"))
        .await
        .expect_status(201);
    service.process().stop();
    let data_dir = service.data_dir();
    let before = files(&data_dir);
    for (of_folders, of_files, part) in [
        (0o500, 0o600, "must be allowed to write"),
        (0o500, 0o400, "Set DATA_DIR to a folder that you may write"),
    ] {
        set_modes(&data_dir, of_folders, of_files);
        let ended = started(&data_dir);
        let (printed, refusal) = (ended.stdout, String::from_utf8(ended.stderr).unwrap());
        assert!(!ended.status.success() && printed.is_empty(), "{refusal}");
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
        assert!(refusal.contains(part), "{refusal}");
        assert!(refusal.contains(data_dir.to_str().unwrap()), "{refusal}");
        assert_eq!(files(&data_dir), before, "something was changed");
    }
    set_modes(&data_dir, 0o700, 0o600);
    service.restart();
    let path = format!("/prompts/{}", answer.id());
    assert_eq!(
        service.get(&token, &path).await.expect_status(200).body,
        answer.body
    );
}
