//! Runs a real browser.

use std::path::Path;
use std::process::{Command, Output};

use crate::environment::variable;

/// Returns the program that `CHROMIUM` names.
///
/// # Panics
///
/// Panics without the variable.
pub fn chromium() -> String {
    variable("CHROMIUM")
        .expect("CHROMIUM is not set: name a Chromium, or leave such tests out by `-- --skip _in_chromium`")
}

/// Loads a page in Chromium. Returns the page's final document as standard output and the browser's log as
/// standard error.
///
/// # Panics
///
/// Panics when the program does not start.
pub fn load(folder: &Path, url: &str) -> Output {
    let output = Command::new(chromium())
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
    output.expect("Chromium starts")
}
