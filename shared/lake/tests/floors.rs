//! Checks that the folders of the crate import only from lower folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// From the lowest folder to the highest.
const FLOORS: [&str; 11] = [
    "records",
    "sources",
    "schema",
    "statement",
    "tables",
    "child",
    "import",
    "query",
    "jobs",
    "engine",
    "store",
];

#[test]
fn no_folder_imports_from_a_higher_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut imports = 0;
    for (level, floor) in FLOORS.iter().enumerate() {
        for file in sources(&root.join(floor)).unwrap() {
            if file.ends_with("tests.rs") {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap();
            assert!(
                !source.contains("use crate::{"),
                "{}: name each folder in a `use` of its own",
                file.display()
            );
            for other in named(&source) {
                let other_level = FLOORS.iter().position(|floor| *floor == other);
                let is_below = other_level.is_none_or(|other| other <= level);
                assert!(
                    is_below,
                    "{} imports from the higher folder '{other}'",
                    file.display()
                );
                imports += usize::from(other_level.is_some());
            }
        }
    }
    assert!(imports > 200, "only {imports} imports were found");
}

#[test]
fn every_folder_has_its_floor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "bin" {
            assert!(
                FLOORS.contains(&name.as_str()),
                "add the folder '{name}' to FLOORS"
            );
        }
    }
}

fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns the names that follow `crate::` in a source, without the tests at its end.
fn named(source: &str) -> impl Iterator<Item = &str> {
    let code = source
        .find("\n#[cfg(test)]")
        .map_or(source, |end| source.split_at(end).0);
    code.split("crate::").skip(1).map(|path| {
        let end = path.find(|letter: char| letter != '_' && !letter.is_alphanumeric());
        path.split_at(end.unwrap_or(path.len())).0
    })
}
