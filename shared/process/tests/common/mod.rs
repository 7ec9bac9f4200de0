//! Provides functions that several tests share.
#![allow(dead_code, reason = "each test is a crate of its own and uses a part")]
#![allow(
    clippy::allow_attributes,
    reason = "a part that all tests use is not dead in any"
)]

use process::{Definition, Fault, check};

/// Returns a definition with these parts besides 'document'.
pub fn document(parts: &str) -> String {
    format!("document: {{ dsl: '1.0.3', namespace: tests, name: sample, version: '0.1.0' }}\n{parts}")
}

/// Returns the definition with these tasks, each `name: { … }`, separated by ` ;; `.
pub fn tasks(tasks: &str) -> String {
    let items: Vec<String> = tasks.split(" ;; ").map(|task| format!("{{ {task} }}")).collect();
    document(&format!("do: [{}]", items.join(", ")))
}

pub fn passes(text: &str) -> Definition {
    match check(text) {
        Ok(definition) => definition,
        Err(faults) => panic!("{}", shown(&faults)),
    }
}

pub fn faults(text: &str) -> Vec<Fault> {
    check(text).map(|_| ()).expect_err(text)
}

pub fn shown(faults: &[Fault]) -> String {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    faults.join("\n")
}

/// Expects exactly these faults: the pointer of each, and a part of its message.
pub fn refused(text: &str, expected: &[(&str, &str)]) {
    let found = faults(text);
    let is_one = |(fault, (pointer, part)): (&Fault, &(&str, &str))| {
        fault.pointer == *pointer && fault.message.contains(part)
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(is_one),
        "{text}\nexpected {expected:#?}\nfound\n{}",
        shown(&found)
    );
    for fault in &found {
        assert!(fault.message.ends_with('.'), "no sentence: {fault}");
    }
}
