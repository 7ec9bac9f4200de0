//! Tests the workflows of GitHub by their linters, and what no linter knows.

use std::fs;

use crate::artifact::{CHECKOUT, output, refusal, script};

/// Returns the text of each workflow, with its name.
fn workflows() -> Vec<(String, String)> {
    let entries = fs::read_dir(format!("{CHECKOUT}/.github/workflows")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn the_linters_find_nothing() {
    output(&mut script("infra/dist/lint"));
}

#[test]
fn a_tag_that_is_not_the_version_is_refused() {
    let text = refusal(script("infra/dist/notes").arg("v99.0.0"));
    assert!(
        text.contains("The tag is 'v99.0.0', and Cargo.toml has the version"),
        "{text}"
    );
}

#[test]
fn every_action_is_pinned_and_no_checkout_keeps_credentials() {
    let workflows = workflows();
    assert!(!workflows.is_empty());
    for (name, text) in workflows {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let Some((_, action)) = line.split_once("uses: ") else {
                continue;
            };
            if action.starts_with("./") {
                continue;
            }
            let (_, pin) = action.split_once('@').unwrap();
            let (commit, comment) = pin.split_once(" # v").unwrap_or((pin, ""));
            assert!(
                commit.len() == 40 && commit.chars().all(|letter| letter.is_ascii_hexdigit()),
                "{name}: {action}"
            );
            assert!(!comment.is_empty(), "{name}: {action} names no version");
            if action.starts_with("actions/checkout@") {
                let options = lines[number + 1..].iter().take(6).copied().collect::<String>();
                assert!(options.contains("persist-credentials: false"), "{name}: {action}");
            }
        }
        assert!(
            text.contains("\npermissions: {}\n"),
            "{name} starts with permissions"
        );
        assert!(
            text.contains("\nconcurrency:\n"),
            "{name} may run twice at a time"
        );
    }
}
