//! Tests that the restore of docs/deploy.md stops and starts everything that works by itself, and restores
//! every table.

use std::collections::BTreeSet;

use crate::translated::{between, read, resources, template};

const GUIDE: &str = "docs/deploy.md";

/// Returns the words that the script assigns to a variable.
fn words<'a>(guide: &'a str, variable: &str) -> BTreeSet<&'a str> {
    let lists = between(guide, &format!("\n{variable}=\""), "\"");
    assert_eq!(lists.len(), 1, "{variable}: {lists:?}");
    lists.into_iter().flat_map(str::split_whitespace).collect()
}

fn names(of_type: &str) -> BTreeSet<&'static str> {
    resources(of_type).into_iter().map(|(name, _)| name).collect()
}

/// A rule with a pattern only fills a queue, whose event source is stopped.
#[test]
fn restore_stops_every_schedule_and_every_event_source() {
    let guide = read(GUIDE);
    let schedules: BTreeSet<&str> = resources("AWS::Events::Rule")
        .into_iter()
        .filter(|(_, rule)| rule["ScheduleExpression"].is_string())
        .map(|(name, _)| name)
        .collect();
    assert!(schedules.len() >= 3, "{schedules:?}");
    assert_eq!(words(&guide, "RULES"), schedules);
    assert_eq!(words(&guide, "SOURCES"), names("AWS::Lambda::EventSourceMapping"));
}

#[test]
fn restore_handles_every_table() {
    let guide = read(GUIDE);
    let loops = between(&guide, "for table in ", ";");
    assert!(!loops.is_empty());
    for tables in loops {
        let tables: BTreeSet<&str> = tables.split_whitespace().collect();
        assert_eq!(tables, names("AWS::DynamoDB::Table"));
    }
}

#[test]
fn the_commands_of_the_guide_name_what_the_template_has() {
    let guide = read(GUIDE);
    for (command, section) in [
        ("$(resource ", "Resources"),
        ("$(alarm ", "Resources"),
        ("$(output ", "Outputs"),
    ] {
        let names = between(&guide, command, ")");
        assert!(!names.is_empty(), "{command}");
        for name in names.into_iter().filter(|name| !name.contains('$')) {
            assert!(template()[section][name].is_object(), "no {section} has {name}");
        }
    }
}
