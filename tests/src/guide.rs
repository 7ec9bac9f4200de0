//! Reads `docs/webhooks.md`: its fenced code blocks, and the programs in them.

use std::io::Write as _;
use std::process::{Command, Stdio};

const PAGE: &str = "../docs/webhooks.md";

pub fn page() -> String {
    std::fs::read_to_string(PAGE).expect("the page is there")
}

/// Returns the fenced code blocks of a language.
pub fn blocks(page: &str, language: &str) -> Vec<String> {
    let open = format!("\n```{language}\n");
    let rest = page.split(&open).skip(1);
    rest.map(|rest| rest.split_once("\n```").expect("a block has an end").0.to_owned())
        .collect()
}

/// Runs a command, which must succeed. Returns its output.
#[track_caller]
pub fn run(command: &mut Command, input: &str) -> String {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    child
        .stdin
        .take()
        .expect("it has an input")
        .write_all(input.as_bytes())
        .expect("it reads its input");
    let output = child.wait_with_output().expect("it ends");
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {output_text}{errors}");
    output_text
}
