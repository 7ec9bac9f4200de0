//! Checks `make new-workflow`: the generated code compiles, is formatted and passes its own test.

#![cfg(test)]

// The generated files belong to the crate `runs`.
extern crate self as runs;

mod refund_order;
mod refund_order_test;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use workflow::Registry;

/// The registry after the type is added.
pub fn registry() -> Registry {
    refund_order::add(Registry::new())
}

/// Copies the files that the command changes.
fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "Cargo.toml",
        "src/lib.rs",
        "src/batch_agent.rs",
        "tests/corpus.rs",
    ] {
        let copy = folder.path().join(file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(file, copy).unwrap();
    }
    folder
}

fn write(name: &str, folder: &Path) -> Output {
    let mut command = Command::new("python3");
    command.args(["-B", "new/new.py", name]).arg(folder);
    command.output().unwrap()
}

#[test]
fn a_module_a_test_a_registry_line_and_a_corpus_case_are_written() {
    let folder = copied();
    let written = write("refund-order", folder.path());
    assert!(written.status.success(), "{written:?}");
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let ours = |file: &str| fs::read_to_string(format!("tests/new_workflow/{file}")).unwrap();
    assert_eq!(read("src/refund_order.rs"), ours("refund_order.rs"));
    assert_eq!(read("tests/refund_order.rs"), ours("refund_order_test.rs"));
    let library = read("src/lib.rs");
    assert!(library.contains("pub mod refund_order;\n"), "{library}");
    assert!(library.contains("refund_order::add"), "{library}");
    assert!(read("tests/corpus.rs").contains("\"RefundOrder-completed\""));

    let again = write("refund-order", folder.path());
    assert!(!again.status.success());
    let refusal = String::from_utf8(again.stderr).unwrap();
    assert!(refusal.contains("is there already"), "{refusal}");
}

#[test]
fn a_name_that_something_else_has_is_refused() {
    for (name, reason) in [
        ("workflow", "is the name of a crate"),
        ("serde-json", "is the name of a crate"),
        ("std", "is the name of a crate"),
        ("approval", "has a workflow type 'Approval'"),
        ("batch-agent-workflow", "has a workflow type 'BatchAgentWorkflow'"),
    ] {
        let folder = copied();
        let refused = write(name, folder.path());
        assert!(!refused.status.success(), "{name}");
        let refusal = String::from_utf8(refused.stderr).unwrap();
        assert!(refusal.contains(reason), "{name}: {refusal}");
    }
}

#[test]
fn a_name_that_cannot_be_a_module_is_refused_and_nothing_written() {
    for name in [
        "", "Order", "2order", "order--x", "../order", "match", "lib", "corpus",
    ] {
        let folder = copied();
        let refused = write(name, folder.path());
        assert!(!refused.status.success(), "{name}");
        assert!(
            !String::from_utf8(refused.stderr).unwrap().contains("Traceback"),
            "{name}"
        );
        let library = fs::read_to_string(folder.path().join("src/lib.rs")).unwrap();
        assert_eq!(library, fs::read_to_string("src/lib.rs").unwrap(), "{name}");
    }
}
