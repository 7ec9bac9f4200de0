//! Finds and starts the measured programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// Environment variables that a program gets: only those that do not change how it works.
const KEPT: [&str; 5] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
];

/// Returns a variable that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the build's folder, which holds the benchmarks themselves.
pub fn folder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().map(Path::to_owned).unwrap_or_default())
}

/// Returns a program of this workspace, from the same build as the benchmarks.
pub fn binary(name: &str) -> Result<PathBuf> {
    let path = folder()?.join(name);
    if path.is_file() {
        return Ok(path);
    }
    let path = path.display();
    Err(format!("There is no program {path}: `make bench` builds it.").into())
}

/// Returns a program of another profile's build, `lambda` or `debug`, beside the build of the benchmarks.
pub fn of_profile(profile: &str, name: &str) -> Result<PathBuf> {
    binary(&format!("../{profile}/{name}"))
}

/// Returns a command of the program at `path` with a clean environment.
pub fn command(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.env_clear().stdin(Stdio::null());
    command.envs(KEPT.into_iter().filter_map(|name| Some((name, variable(name)?))));
    command
}

/// Runs a command to its end. If it fails, the error has its output.
pub fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{:?} failed: {}", command.get_program(), stderr.trim()).into())
}

/// Returns the JSON object that a program of this workspace prints.
pub fn report(name: &str) -> Result<Value> {
    let output = command(&binary(name)?).output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{name}: {}", String::from_utf8_lossy(&output.stderr)).into())
}
