//! Tests that the links between the documents lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn documents() -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("README.md")];
    for folder in ["..", "../docs"] {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    paths
}

/// Returns the targets of the links of a page, without those to other sites.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://") && !target.contains([' ', '\n']))
}

/// Returns the anchors of the headings, as GitHub names them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    let valid = |letter: &char| letter.is_alphanumeric() || ['-', '_', ' '].contains(letter);
    headings
        .map(|heading| heading.to_lowercase().chars().filter(valid).collect::<String>())
        .map(|anchor| anchor.replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_has_a_target() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap_or(Path::new(".")).join(file),
            };
            let from = document.display();
            assert!(target.exists(), "{from} links to '{link}', which does not exist");
            if !anchor.is_empty() {
                let anchors_there = anchors(&fs::read_to_string(&target).unwrap());
                assert!(
                    anchors_there.iter().any(|other| other == anchor),
                    "{from} links to '{link}', but no heading is called so"
                );
            }
            count += 1;
        }
    }
    assert!(count > 50, "only {count} links were found");
}
