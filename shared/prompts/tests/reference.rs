//! Compares rendering and checking with the references: handlebars.js, and JavaScript itself.
//!
//! Each case in `tests/cases` contains the result of its reference, so the comparison needs no Node.js; one
//! test runs the references again, which `tests/run` installs. `docs/prompts.md` lists the
//! cases that differ, with reasons.
#![cfg(test)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use prompts::Template;
use prompts::records::prompts::ContentType;
use serde::Deserialize;
use serde_json::Value;

/// A template with data, and the reference's result.
#[derive(Deserialize)]
struct Case {
    name: String,
    template: String,
    data: Value,
    /// Rendered text, or `None` for an error.
    expected: Option<String>,
    /// Whether the reference can parse the template.
    is_template: bool,
}

#[derive(Deserialize)]
struct Answer {
    is_template: bool,
    text: Option<String>,
}

fn file(language: &str) -> PathBuf {
    PathBuf::from("tests/cases").join(language).with_extension("json")
}

fn cases(language: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(file(language)).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
    let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len(), "two cases share a name");
    cases
}

/// Returns the names in the first column of the table below a heading of the documentation; a row may have
/// several.
fn listed(heading: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string("../../docs/prompts.md").unwrap();
    let (_, below) = page
        .split_once(&format!("\n### {heading}\n"))
        .unwrap_or_else(|| panic!("docs/prompts.md has no part '{heading}'"));
    let part = below.split("\n#").next().unwrap();
    let cells = part
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let names = cells.flat_map(|cell| cell.trim_end_matches('`').split("`, `"));
    names.map(str::to_owned).collect()
}

/// Fails for an unlisted difference, and for a listed case without a difference.
fn assert_listed(heading: &str, found: BTreeSet<String>) {
    let listed = listed(heading);
    let new: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "docs/prompts.md, {heading}: not listed {new:?}; listed without a difference {gone:?}"
    );
}

/// Returns the cases that are rendered differently from the reference.
fn rendered_otherwise(content_type: ContentType, cases: &[Case]) -> BTreeSet<String> {
    let differs = |case: &&Case| {
        let template = Template::compile(content_type, &case.template);
        template.and_then(|template| template.render(&case.data)).ok() != case.expected
    };
    let names = cases.iter().filter(differs).map(|case| case.name.clone());
    names.collect()
}

/// Returns the cases that only one of the check and the reference accepts.
fn stored_otherwise(content_type: ContentType, cases: &[Case]) -> BTreeSet<String> {
    let differs = |case: &&Case| prompts::check(content_type, &case.template).is_ok() != case.is_template;
    let names = cases.iter().filter(differs).map(|case| case.name.clone());
    names.collect()
}

#[test]
fn handlebars_is_rendered_as_handlebars_js_does_it() {
    let cases = cases("handlebars");
    assert!(cases.len() >= 200, "{}", cases.len());
    assert_listed(
        "Rendered otherwise than by handlebars.js",
        rendered_otherwise(ContentType::Handlebars, &cases),
    );
}

#[test]
fn handlebars_is_stored_as_handlebars_js_parses_it() {
    assert_listed(
        "Stored otherwise than handlebars.js parses",
        stored_otherwise(ContentType::Handlebars, &cases("handlebars")),
    );
}

#[test]
fn javascript_is_rendered_as_javascript_does_it() {
    assert_listed(
        "Rendered otherwise than by JavaScript",
        rendered_otherwise(ContentType::Jst, &cases("jst")),
    );
}

#[test]
fn javascript_is_stored_as_javascript_parses_it() {
    assert_listed(
        "Stored otherwise than JavaScript parses",
        stored_otherwise(ContentType::Jst, &cases("jst")),
    );
}

/// Runs every case again with the references themselves.
#[test]
fn the_cases_say_what_the_references_do() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the harness says by it where the references are"
    )]
    let modules = std::env::var("PEERS_NODE").expect("PEERS_NODE is not set: start the tests by `tests/run`");
    let scripts = Path::new("../../tests/peers/templates");
    for (language, arguments) in [
        (
            "handlebars",
            vec![scripts.join("render.mjs"), PathBuf::from(modules)],
        ),
        ("jst", vec![scripts.join("literals.mjs")]),
    ] {
        let output = Command::new("node").args(arguments).arg(file(language)).output();
        let output = output.expect("node starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let answers: Vec<Answer> =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{language}: {said}"));
        let cases = cases(language);
        assert_eq!(answers.len(), cases.len());
        for (case, answer) in cases.iter().zip(answers) {
            let name = &case.name;
            assert_eq!(answer.text, case.expected, "{language}, {name}");
            assert_eq!(answer.is_template, case.is_template, "{language}, {name}");
        }
    }
}
