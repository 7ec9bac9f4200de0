//! Packs artifacts of the programs under test, and starts what was installed from them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use tests::{Client, Process};

pub const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns a command for a script of the checkout, which compresses little.
pub fn script(name: &str) -> Command {
    let mut command = Command::new(Path::new(CHECKOUT).join(name));
    command
        .current_dir(CHECKOUT)
        .env("DIST_COMPRESSION", "1")
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .env_remove("REPOSITORY_URL")
        .stdin(Stdio::null());
    command
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = ran(command);
    assert!(output.status.success(), "{command:?} failed: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must be refused, and returns what it says.
#[track_caller]
pub fn refusal(command: &mut Command) -> String {
    let output = ran(command);
    assert!(!output.status.success(), "{command:?} is not refused: {output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains("Traceback"), "not a sentence: {text}");
    text
}

#[track_caller]
fn ran(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Returns the platform of this machine, and the version of the workspace.
pub fn platform() -> String {
    output(&mut script("infra/dist/platform")).trim().to_owned()
}

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Packs a folder as a tarball whose folder has this name.
pub fn archive(layout: &Path, archive: &Path, name: &str) {
    let mut command = Command::new("python3");
    command.args([
        "-B",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/dist/archive.py"),
    ]);
    command.args([layout, archive]).arg(name);
    output(
        command
            .env("DIST_COMPRESSION", "1")
            .env("SOURCE_DATE_EPOCH", "1700000000"),
    );
}

/// Returns what is installed, laid out in a folder. The programs are those under test, made small and like
/// shipped ones.
pub fn layout(folder: &Path) -> PathBuf {
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    let settings = fs::read_to_string(Path::new(CHECKOUT).join("infra/dist/programs.env")).unwrap();
    let names = settings
        .split_once("PROGRAMS=(")
        .unwrap()
        .1
        .split_once(')')
        .unwrap()
        .0;
    for name in names.split(' ') {
        let program = programs.join(name);
        output(
            Command::new("strip")
                .arg("-o")
                .arg(&program)
                .arg(tests::binary(name)),
        );
        if cfg!(target_os = "linux") {
            let mut command = Command::new(tests::dist_tool("patchelf"));
            output(command.args(["--set-rpath", "$ORIGIN/lib"]).arg(&program));
        }
    }
    let made = folder.join("layout");
    let mut command = script("infra/dist/layout");
    output(command.arg(platform()).args([&programs, &made]));
    made
}

/// Returns a command for an installed program, with a clean environment and an empty home.
pub fn installed(program: impl AsRef<OsStr>, home: &TempDir) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", tests::variable("PATH").unwrap())
        .env("HOME", home.path())
        .stdin(Stdio::null());
    command
}

/// Starts an installed program, asks it something, and asks it to end; twice, over the same data.
pub async fn starts_and_ends(program: &Path) {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    for _ in 0..2 {
        let mut command = installed(program, &home);
        command
            .args(["--port", "0", "--data-dir", "data"])
            .current_dir(home.path());
        let mut process = Process::start_command(command, &log);
        let client = Client::new(process.base_url());
        client.get(process.token(), "/prompts").await.expect_status(200);
        assert_eq!(process.stop(), Some(0), "{}", fs::read_to_string(&log).unwrap());
    }
}

/// Checks a packed artifact as before a release, but for its size and for glibc: debug programs are large,
/// and built for this machine.
pub fn checked(artifact: &Path, options: &[&str]) -> String {
    let mut command = script("infra/dist/check");
    output(
        command
            .arg(artifact)
            .args(["--largest-mb", "300", "--glibc", "2.99"])
            .args(options),
    )
}
