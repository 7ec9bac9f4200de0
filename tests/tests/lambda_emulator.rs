//! Tests that the list of tests that `make test-lambda` skips names existing tests.

#![cfg(test)]

use std::collections::BTreeSet;

const SKIPS: &str = include_str!("../data/ministack-skips.txt");

#[test]
fn every_skipped_test_exists_and_has_its_reason() {
    let mut seen = BTreeSet::new();
    for line in SKIPS.lines().filter(|line| !line.starts_with('#')) {
        let (name, reason) = line.split_once(" # ").expect("a name, then its reason");
        let (binary, test) = name.trim().split_once(' ').expect("a binary, then a test");
        assert!(!reason.trim().is_empty() && seen.insert(name.trim()), "{line}");
        let (file, function) = match test.rsplit_once("::") {
            Some((modules, function)) => (format!("{binary}/{}.rs", modules.replace("::", "/")), function),
            None => (format!("tests/{binary}.rs"), test),
        };
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            text.contains(&format!("fn {function}(")),
            "{file} has no test {function}"
        );
    }
}
