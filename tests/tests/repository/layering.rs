//! Checks the invariants of ARCHITECTURE.md about the code itself, by reading the code.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the checkout. Tests run in the folder of their crate; the folder at compile time may belong to
/// another clone that shares the target directory.
pub(super) fn root() -> PathBuf {
    PathBuf::from("..")
}

/// Returns the workspace crates, each with its folder and the names of its dependencies.
fn crates(below: &str) -> Vec<(String, Vec<String>)> {
    let mut crates = Vec::new();
    for entry in fs::read_dir(root().join(below)).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else {
            continue;
        };
        let dependencies = manifest
            .split("\n[")
            .filter(|section| {
                section.starts_with("dependencies]") || section.starts_with("build-dependencies]")
            })
            .flat_map(|section| section.lines().skip(1))
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|name| !name.is_empty() && !name.starts_with('#'))
            .map(str::to_owned);
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        crates.push((name, dependencies.collect()));
    }
    assert!(!crates.is_empty(), "no crates below {below}");
    crates
}

/// Returns the crates below `shared/`.
fn shared_crates() -> Vec<String> {
    crates("shared").into_iter().map(|(name, _)| name).collect()
}

fn sources(below: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            files.push((path.strip_prefix(root()).unwrap().to_owned(), text));
        }
    }
}

pub(super) fn all_sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for folder in ["functions", "shared", "infra"] {
        sources(&root().join(folder), &mut files);
    }
    assert!(files.len() > 50);
    files
}

fn files_with(needle: &str) -> Vec<String> {
    let matching = all_sources()
        .into_iter()
        .filter(|(_, text)| text.contains(needle));
    matching
        .map(|(path, _)| path.to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_function_imports_no_other_function_and_nothing_of_infra() {
    for (function, dependencies) in crates("functions") {
        for dependency in dependencies {
            let foreign = dependency.ends_with("-function")
                || ["benches", "local", "ops", "samples", "tests"].contains(&dependency.as_str());
            assert!(!foreign, "functions/{function} depends on {dependency}");
        }
    }
}

#[test]
fn shared_crates_depend_downwards_only() {
    // A crate may use only crates before it.
    let order = [
        "platform",
        "identity",
        "embedded",
        "conformance",
        "sandbox",
        "models",
        "aws",
        "process",
        "events",
        "prompts",
        "lake",
        "event-log",
        "workflow",
        "runs",
    ];
    for (name, dependencies) in crates("shared") {
        let rank = order.iter().position(|other| *other == name);
        let rank = rank.unwrap_or_else(|| panic!("shared/{name} has no place in the order of this test"));
        for dependency in dependencies
            .iter()
            .filter(|dependency| shared_crates().contains(dependency))
        {
            let below = order.iter().position(|other| other == dependency).unwrap();
            assert!(below < rank, "shared/{name} depends on {dependency}");
        }
        let upwards = dependencies.iter().find(|dependency| {
            dependency.ends_with("-function") || ["local", "samples"].contains(&dependency.as_str())
        });
        assert_eq!(upwards, None, "shared/{name}");
    }
}

#[test]
fn only_lake_knows_duckdb() {
    for folder in ["functions", "infra", "shared"] {
        for (name, dependencies) in crates(folder)
            .into_iter()
            .filter(|(name, _)| name != "lake" && name != "duckdb" && name != "sam")
        {
            assert!(!dependencies.contains(&"duckdb".to_owned()), "{folder}/{name}");
        }
    }
    for file in files_with("duckdb::") {
        assert!(file.starts_with("shared/lake/"), "{file}");
    }
}

#[test]
fn only_the_crate_for_aws_knows_the_sdk() {
    for folder in ["functions", "infra", "shared"] {
        for (name, dependencies) in crates(folder) {
            let mut dependencies = dependencies.iter();
            let of_sdk = dependencies.find(|name| name.starts_with("aws-sdk-") || *name == "aws-config");
            assert!(
                of_sdk.is_none() || name == "aws",
                "{folder}/{name} depends on {of_sdk:?}"
            );
        }
    }
}

#[test]
fn name_of_a_setting_is_written_once() {
    let table = root().join("shared/platform/src/config/variables.rs");
    let table = fs::read_to_string(table).unwrap();
    let is_name = |text: &str| text.starts_with("MILLRACE_") && !text.contains(' ');
    let names: HashSet<&str> = table.split('"').filter(|text| is_name(text)).collect();
    assert!(names.len() > 50);
    for (path, text) in all_sources() {
        let again = text.split('"').find(|part| names.contains(part));
        let is_table = path.ends_with("config/variables.rs");
        assert!(again.is_none() || is_table, "{}: {again:?}", path.display());
    }
}

#[test]
fn functions_and_shared_crates_know_neither_the_sdk_nor_lambda() {
    for folder in ["functions", "shared"] {
        for (name, dependencies) in crates(folder).into_iter().filter(|(name, _)| name != "aws") {
            for dependency in [
                "aws",
                "lambda",
                "lambda_http",
                "lambda_runtime",
                "aws_lambda_events",
            ] {
                let is_there = dependencies.iter().any(|other| other == dependency);
                assert!(!is_there, "{folder}/{name} depends on {dependency}");
            }
        }
    }
}

#[test]
fn time_ids_and_environment_are_asked_in_their_modules_alone() {
    // In two parts, so that the search of the checkout does not find this file.
    for (needle, home) in [
        (concat!("Timestamp::", "now("), "shared/platform/src/clock.rs"),
        (concat!("SystemTime::", "now("), ""),
        (concat!("Uuid::", "new_v7("), "shared/platform/src/ids.rs"),
        (concat!("env::", "var"), "shared/platform/src/config/mod.rs"),
    ] {
        for file in files_with(needle) {
            // Build scripts get their target through environment variables.
            assert!(file == home || file.ends_with("/build.rs"), "{needle}: {file}");
        }
    }
}

#[test]
fn a_file_is_one_thing() {
    for (path, text) in all_sources() {
        let lines = text.lines().count();
        assert!(
            lines <= 600,
            "{} has {lines} lines: find the seam",
            path.display()
        );
    }
}

/// A word that occurs once in all sources, comments left out, is the name of an item without a caller.
#[test]
fn every_public_item_is_used() {
    let mut sources = all_sources();
    let mut tests = Vec::new();
    for folder in [
        "benches/src",
        "tests/src",
        "tests/tests",
        "tests/security",
        "tests/template",
    ] {
        self::sources(&root().join(folder), &mut tests);
    }
    for below in ["shared", "infra"] {
        for entry in fs::read_dir(root().join(below)).unwrap() {
            let folder = entry.unwrap().path().join("tests");
            if folder.is_dir() {
                self::sources(&folder, &mut tests);
            }
        }
    }
    let is_word = |letter: char| letter == '_' || letter.is_alphanumeric();
    let code = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.map(str::to_owned).collect()
    };
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut public = Vec::new();
    for (path, text) in &sources {
        for line in code(text) {
            if let Some(item) = public_item(&line) {
                public.push((path.clone(), item.to_owned()));
            }
        }
    }
    sources.extend(tests);
    for (_, text) in &sources {
        for line in code(text) {
            for word in line
                .split(|letter| !is_word(letter))
                .filter(|word| !word.is_empty())
            {
                *counts.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    assert!(
        public.len() > 1_000,
        "only {} public items were found",
        public.len()
    );
    public.retain(|(_, item)| counts.get(item) == Some(&1));
    assert!(public.is_empty(), "remove what nothing uses: {public:?}");
}

/// Returns the name of the public function, type, trait or constant that a line declares.
fn public_item(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let mut words = rest.strip_prefix(' ')?.split([' ', '(', '<', ':', ';', '{']);
    let kinds = ["fn", "struct", "enum", "trait", "type", "static"];
    loop {
        match words.next()? {
            "async" | "unsafe" => {}
            "const" => {
                let name = words.next()?;
                return if name == "fn" { words.next() } else { Some(name) };
            }
            kind if kinds.contains(&kind) => return words.next(),
            _ => return None,
        }
    }
}
