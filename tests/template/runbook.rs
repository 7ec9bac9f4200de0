//! Tests that the runbook explains each alarm, and names only things that exist.

use std::collections::BTreeSet;
use std::path::Path;

use crate::translated::{between, read, resources, template};

const RUNBOOK: &str = "docs/runbook.md";

fn alarms() -> BTreeSet<&'static str> {
    let alarms = resources("AWS::CloudWatch::Alarm");
    assert!(!alarms.is_empty());
    alarms.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn every_alarm_has_a_section_of_the_runbook() {
    let runbook = read(RUNBOOK);
    let sections: Vec<&str> = runbook
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .filter(|section| section.ends_with("Alarm"))
        .collect();
    let names: BTreeSet<&str> = sections.iter().copied().collect();
    assert_eq!(names.len(), sections.len(), "an alarm has two sections");
    assert_eq!(names, alarms());
}

#[test]
fn the_runbook_names_no_alarm_that_does_not_exist() {
    let runbook = read(RUNBOOK);
    let words = runbook.split(|letter: char| !letter.is_ascii_alphanumeric());
    let names: BTreeSet<&str> = words.filter(|word| word.ends_with("Alarm")).collect();
    assert_eq!(names, alarms());
}

#[test]
fn the_commands_of_the_runbook_name_what_the_template_has() {
    let runbook = read(RUNBOOK);
    for (command, section) in [("$(resource ", "Resources"), ("$(output ", "Outputs")] {
        let names = between(&runbook, command, ")");
        assert!(names.len() >= 5, "{names:?}");
        for name in names.into_iter().filter(|name| !name.contains('$')) {
            assert!(template()[section][name].is_object(), "no {section} has {name}");
        }
    }
    for function in between(&runbook, "@logStream like /", "/") {
        assert!(
            template()["Resources"][function].is_object(),
            "no function is {function}"
        );
    }
}

/// Collects the source text of the programs, without their tests.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn the_queries_of_the_runbook_ask_for_messages_that_are_logged() {
    let mut text = String::new();
    for folder in ["../functions", "../shared"] {
        sources(Path::new(folder), &mut text);
    }
    let runbook = read(RUNBOOK);
    let messages = between(&runbook, "message = \"", "\"");
    assert!(messages.len() >= 8, "{messages:?}");
    for message in messages {
        assert!(
            text.contains(&format!("\"{message}\"")),
            "nothing logs '{message}': correct {RUNBOOK}"
        );
    }
}
