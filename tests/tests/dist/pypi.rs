//! Tests the wheel.

use std::path::Path;
use std::process::Command;

use crate::artifact::{checked, installed, layout, output, platform, script, starts_and_ends};

#[tokio::test]
async fn the_installed_wheel_starts_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let made = layout(folder.path());
    let mut command = script("infra/dist/wheel");
    let printed = output(command.arg(folder.path()).arg(platform()).arg(made));
    let wheel = Path::new(printed.trim());
    checked(wheel, &["--unstarted"]);
    for (tool, options) in [
        ("twine", &["check", "--strict"][..]),
        ("check-wheel-contents", &[]),
    ] {
        output(Command::new(tests::dist_tool(tool)).args(options).arg(wheel));
    }

    let environment = folder.path().join("environment");
    output(
        installed("python3", &folder)
            .args(["-m", "venv"])
            .arg(&environment),
    );
    let mut pip = installed(environment.join("bin/pip"), &folder);
    pip.args([
        "install",
        "--no-index",
        "--no-deps",
        "--disable-pip-version-check",
    ]);
    output(pip.arg(wheel));
    starts_and_ends(&environment.join("bin/millrace")).await;

    let mut python = installed(environment.join("bin/python"), &folder);
    assert!(output(python.args(["-m", "millrace", "--help"])).contains("Usage: millrace"));
}
