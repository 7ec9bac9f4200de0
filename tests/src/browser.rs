//! Runs a real browser, if the environment names one.

use std::path::Path;
use std::process::{Command, Output};

use crate::environment::variable;

/// Message of a test that skips because no browser is configured.
pub const SKIPPED: &str = "skipped: set CHROMIUM to the program of a Chromium";

/// Loads a page in the Chromium that `CHROMIUM` names. Returns the page's final document as standard output
/// and the browser's log as standard error. None without the variable.
///
/// # Panics
///
/// Panics when the program does not start.
pub fn load(folder: &Path, url: &str) -> Option<Output> {
    let chromium = variable("CHROMIUM")?;
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-sync",
            "--enable-logging=stderr",
            // Milliseconds of the page's own clock, which runs fast while the page waits.
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.join("chromium").display()))
        .arg(url)
        .output();
    Some(output.expect("Chromium starts"))
}
