//! Tests that the list of tests that `make test-lambda` skips names existing tests.

use std::collections::BTreeSet;

const SKIPS: &str = include_str!("../../data/ministack-skips.txt");

#[test]
fn every_skipped_test_exists_and_has_its_reason() {
    let mut names = BTreeSet::new();
    for line in SKIPS.lines().filter(|line| !line.starts_with('#')) {
        let (name, reason) = line.split_once(" # ").expect("a name, then its reason");
        let (binary, test) = name.trim().split_once(' ').expect("a binary, then a test");
        assert!(!reason.trim().is_empty() && names.insert(name.trim()), "{line}");
        let (modules, function) = test.rsplit_once("::").expect("a module, then a function");
        let file = format!("{binary}/{}.rs", modules.replace("::", "/"));
        let text = std::fs::read_to_string(&file)
            .or_else(|_| std::fs::read_to_string(format!("tests/{file}")))
            .unwrap_or_default();
        assert!(
            text.contains(&format!("fn {function}(")),
            "{file} has no test {function}"
        );
    }
}
