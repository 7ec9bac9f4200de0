//! A real browser, where the environment names one.

use std::path::Path;
use std::process::{Command, Output};

use crate::environment::variable;

/// What a test says that needs a browser and has none.
pub const SKIPPED: &str = "skipped: set CHROMIUM to the program of a Chromium";

/// Loads a page in the Chromium that `CHROMIUM` names, and returns the page's final document as the standard
/// output and the browser's log as the standard error. None without the variable.
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
            // Milliseconds of the page's own clock, which runs ahead while the page waits.
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.join("chromium").display()))
        .arg(url)
        .output();
    Some(output.expect("Chromium starts"))
}
