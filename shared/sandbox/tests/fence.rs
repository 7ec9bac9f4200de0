//! Tests that a child can do nothing but compute, whatever code runs in it.
#![cfg(test)]
#![cfg(target_os = "linux")]

mod escapes;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use escapes::{ENOSYS, World, library};

/// A frame with the task `echo`.
const TASK: &[u8] = b"\x04\0\0\0echo";

/// Numbers of calls, and an error.
const SECCOMP: &str = if cfg!(target_arch = "x86_64") {
    "317"
} else {
    "277"
};
const LANDLOCK: &str = "444";
const EPERM: &str = "1";

const ARGUMENTS: [&str; 3] = ["tests", "5000", "268435456"];

fn child() -> Command {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sandbox-child"));
    child.args(ARGUMENTS);
    child
}

/// Runs a child with a task where the kernel refuses a call with this error.
fn where_refused(call: &str, error: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut child = child()
        .env("LD_PRELOAD", library(folder.path(), "old_kernel"))
        .envs([("LACKS", call), ("REFUSED", error)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A child without a fence reads nothing.
    let _ = child.stdin.take().unwrap().write_all(TASK);
    child.wait_with_output().unwrap()
}

/// Where a user other than root starts a child, it cannot give up files without giving up new privileges.
#[test]
fn child_of_another_user_than_root_works() {
    let is_root = rustix::process::geteuid().is_root();
    let mut child = match is_root {
        true => {
            let mut launcher = Command::new("setpriv");
            launcher.args(["--bounding-set", "-sys_admin", "--"]);
            launcher.arg(env!("CARGO_BIN_EXE_sandbox-child"));
            launcher.args(ARGUMENTS);
            launcher
        }
        false => child(),
    };
    let child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(TASK);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, TASK);
}

#[test]
fn child_on_a_kernel_without_landlock_works() {
    let output = where_refused(LANDLOCK, &ENOSYS.to_string());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, TASK);
}

#[test]
fn child_whose_filter_is_refused_does_no_work_and_says_why() {
    let output = where_refused(SECCOMP, EPERM);
    assert!(sandbox::fence::is_unfenced(output.status), "{output:?}");
    assert_eq!(output.stdout, b"");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("the fence of a child could not be closed"),
        "{message}"
    );
}

#[test]
fn each_call_beyond_memory_threads_and_time_is_refused() {
    let attempts = World::new().attempts(&mut child(), TASK);
    let passed: Vec<_> = attempts.iter().filter(|(_, error)| **error != ENOSYS).collect();
    assert!(passed.is_empty(), "{passed:?}");
}
