//! Checks that no text of a caller is compiled as a pattern outside of a budget: every place that compiles
//! patterns is listed here with its budget, and so is every crate that can.
//!
//! Patterns in SQL are compiled by DuckDB, in a child process with a deadline, and those of the console in
//! the browser.

use std::collections::BTreeSet;
use std::fs;

use super::layering::{all_sources, root};

/// Crates that compile patterns, by their names in the code.
const CRATES: [&str; 9] = [
    "fancy_regex",
    "globset",
    "jaq_std",
    "jsonschema",
    "jsonschema_regex",
    "regex",
    "regex_automata",
    "regex_bites",
    "regex_lite",
];

const SANDBOX: &str = "a child process with limits on processor time and memory, shared by account";

/// Files that use one of these crates, with the budget of the patterns.
const PLACES: [(&str, &str); 9] = [
    (
        "shared/models/src/output.rs",
        "none is needed: the schemas are Millrace's own, or checked by the operator on the own machine",
    ),
    (
        "shared/process/src/check/schema.rs",
        "none is needed: the schema is compared with the standard's own, and its patterns are only parsed",
    ),
    ("shared/process/src/expression/child.rs", SANDBOX),
    ("shared/process/src/expression/library.rs", SANDBOX),
    ("shared/process/src/expression/matching.rs", SANDBOX),
    ("shared/process/src/expression/natives.rs", SANDBOX),
    ("shared/process/src/expression/value.rs", SANDBOX),
    (
        "shared/process/src/pattern.rs",
        "limits on text, automaton and value; at most 20 a definition, and counted steps for an event",
    ),
    ("shared/prompts/src/schema.rs", SANDBOX),
];

/// Words in the names of crates of patterns.
const WORDS: [&str; 5] = ["glob", "onig", "pcre", "regex", "wildmatch"];

/// Crates of patterns in the lock file, and the crates that use one, with what they compile.
const LOCKED: [(&str, &str); 16] = [
    ("arrow-string", "nothing: its functions are not called"),
    ("aws-sdk-*", "their own patterns of endpoints"),
    ("bstr", "its own patterns of word breaks"),
    ("fancy-regex", "what jsonschema passes on"),
    ("jaq-std", "patterns of expressions: see PLACES"),
    ("jsonschema", "patterns of schemas: see PLACES"),
    ("jsonschema-regex", "nothing: it translates"),
    ("matchers", "what tracing-subscriber passes on"),
    ("process", "see PLACES"),
    (
        "regex",
        "what jsonschema passes on, and patterns of expressions: see PLACES",
    ),
    ("regex-automata", "what the others pass on"),
    ("regex-bites", "what jaq-std passes on"),
    ("regex-lite", "what the crates aws-sdk-* pass on"),
    ("regex-syntax", "nothing: it parses"),
    ("tests", "patterns of tests"),
    (
        "tracing-subscriber",
        "patterns of log filters, for loom, which nothing here compiles",
    ),
];

/// Returns the files whose code outside of tests has one of these texts.
fn files_with(needles: &[String]) -> BTreeSet<String> {
    let sources = all_sources().into_iter().filter(|(_, text)| {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.any(|line| needles.iter().any(|needle| has_word(line, needle)))
    });
    sources
        .map(|(path, _)| path.to_str().unwrap().to_owned())
        .collect()
}

/// Whether a line has a text that does not go on from another word.
fn has_word(line: &str, needle: &str) -> bool {
    let is_word = |letter: char| letter == '_' || letter.is_alphanumeric();
    line.match_indices(needle)
        .any(|(start, _)| !line[..start].chars().next_back().is_some_and(is_word))
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_place_that_compiles_patterns_has_a_budget() {
    let needles = CRATES.map(|name| format!("{name}::"));
    assert_eq!(files_with(&needles), set(&PLACES.map(|(place, _)| place)));
}

/// A crate under another name, or a new one, would escape the search of the code.
#[test]
fn every_crate_that_compiles_patterns_is_known() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let mut users = BTreeSet::new();
    for package in lock.split("[[package]]").skip(1) {
        let mut names = package.lines().filter_map(|line| {
            let line = line.trim();
            let name = line.strip_prefix("name = ").unwrap_or(line);
            let name = name.strip_prefix('"')?.trim_end_matches(',');
            name.trim_end_matches('"').split(' ').next()
        });
        let name = names.next().unwrap();
        let is_of_patterns = |name: &str| WORDS.iter().any(|word| name.contains(word));
        // The parser alone compiles nothing.
        if is_of_patterns(name) || names.any(|name| name != "regex-syntax" && is_of_patterns(name)) {
            let is_of_sdk = name.starts_with("aws-sdk-");
            users.insert(if is_of_sdk { "aws-sdk-*" } else { name }.to_owned());
        }
    }
    assert_eq!(users, set(&LOCKED.map(|(name, _)| name)));
    for folder in ["functions", "infra", "shared"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let manifest = entry.unwrap().path().join("Cargo.toml");
            let text = fs::read_to_string(&manifest).unwrap_or_default();
            assert!(
                !text.contains("package ="),
                "{} renames a crate",
                manifest.display()
            );
        }
    }
}

/// The sandbox is a budget only where the work is in it.
#[test]
fn expressions_and_schemas_of_callers_are_evaluated_in_the_sandbox() {
    let in_process = files_with(&["Evaluator::in_process(".to_owned()]);
    assert_eq!(
        in_process,
        set(&["shared/runs/src/process/evaluation.rs"]),
        "it is for tests"
    );
    assert_eq!(files_with(&["Expressions::in_process(".to_owned()]), set(&[]));
    let schemas = files_with(&["OutputSchema {".to_owned()]);
    let own = [
        "infra/ops/src/interaction.rs",
        "shared/models/src/request.rs",
        "shared/runs/src/evaluation/question.rs",
    ];
    assert_eq!(
        schemas,
        set(&own),
        "an untrusted schema is validated by process::expression::Evaluator"
    );
}
