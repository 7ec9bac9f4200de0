//! Tests the packages of npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tests::Process;

use crate::artifact::{
    CHECKOUT, VERSION, checked, installed, layout, output, platform, refusal, starts_and_ends,
};

fn pack(out: &Path, layout: Option<(&str, &Path)>) -> PathBuf {
    let mut command = Command::new("python3");
    command
        .args(["-B", "infra/dist/npm.py"])
        .arg(out)
        .current_dir(CHECKOUT);
    if let Some((platform, layout)) = layout {
        command.arg(platform).arg(layout);
    }
    let printed = output(command.env("DIST_COMPRESSION", "1"));
    PathBuf::from(printed.trim())
}

/// Installs packed packages into a project of its own, without a registry. Returns the command.
fn install(project: &TempDir, packages: &[PathBuf]) -> PathBuf {
    let mut npm = installed("npm", project);
    npm.args([
        "install",
        "--offline",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
    ]);
    output(npm.args(packages).current_dir(project.path()));
    project.path().join("node_modules/.bin/millrace")
}

#[tokio::test]
async fn the_installed_packages_start_and_end_with_their_launcher() {
    let folder = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let platform = platform();
    let layout = layout(folder.path());
    let packages = [
        pack(folder.path(), None),
        pack(folder.path(), Some((&platform, &layout))),
    ];
    checked(&packages[1], &["--unstarted"]);
    let millrace = install(&project, &packages);
    starts_and_ends(&millrace).await;

    let mut npx = installed("npx", &project);
    npx.args(["--offline", "millrace", "--help"])
        .current_dir(project.path());
    assert!(output(&mut npx).contains("Usage: millrace"));
    // Its messages name what a user of npx can type.
    let mut npx = installed(&millrace, &project);
    npx.args(["--port", "0", "--data-dir", "other"])
        .env("npm_command", "exec")
        .current_dir(project.path());
    let mut process = Process::start_command(npx, &project.path().join("log"));
    assert_eq!(
        process.environment(),
        "eval \"$(DATA_DIR='other' npx millrace ops env)\""
    );
    process.stop();

    // The code of a refusal.
    let mut command = installed(&millrace, &project);
    command.args(["--port", "none"]);
    assert_eq!(command.output().unwrap().status.code(), Some(2));

    // The last one, where the platform allows it, is the end of a launcher that can do nothing any more.
    for (signal, code) in [("INT", Some(0)), ("HUP", None), ("KILL", None)] {
        if signal == "KILL" && cfg!(not(target_os = "linux")) {
            continue;
        }
        let mut command = installed(&millrace, &project);
        command
            .args(["--port", "0", "--data-dir", "data"])
            .current_dir(project.path());
        let mut process = Process::start_command(command, &project.path().join("log"));
        assert_eq!(process.stop_by(signal), code, "{signal}");
    }
}

#[test]
fn the_launcher_says_what_to_do_where_there_is_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let millrace = install(&project, &[pack(folder.path(), None)]);
    let refused = |pretence: &str| {
        let script = project.path().join("pretence.js");
        fs::write(&script, pretence).unwrap();
        let mut command = installed(&millrace, &project);
        refusal(command.env("NODE_OPTIONS", format!("--require={}", script.display())))
    };
    let platform = |name: &str, processor: &str| {
        format!(
            "Object.defineProperty(process, 'platform', {{ value: '{name}' }});
             Object.defineProperty(process, 'arch', {{ value: '{processor}' }});"
        )
    };
    let musl = format!(
        "{} process.report.getReport = () => ({{ header: {{}} }});",
        platform("linux", "x64")
    );
    for (pretence, sentence) in [
        (
            platform("win32", "x64"),
            "There is no program for Windows: run Millrace in WSL",
        ),
        (
            platform("linux", "ppc64"),
            "There is no program for linux-ppc64: Millrace runs on linux-x64",
        ),
        (musl, "This system has musl"),
        (String::new(), "is not installed. It is an optional dependency"),
    ] {
        let text = refused(&pretence);
        assert!(
            text.starts_with("millrace: ") && text.contains(sentence),
            "{text}"
        );
    }
    let manifest = fs::read_to_string(project.path().join("node_modules/millrace/package.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["version"], VERSION);
    for field in ["main", "exports", "scripts", "dependencies"] {
        assert!(manifest.get(field).is_none(), "{field} is not for the launcher");
    }
}
