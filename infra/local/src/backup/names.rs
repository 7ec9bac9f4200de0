//! Defines the names of files in an archive.

use std::path::{Component, Path};

use crate::services::RECORDS_FILE;

pub const HEAD: &str = "millrace-backup.json";
pub const FORMAT: &str = "format.json";
pub const RECORDS: &str = RECORDS_FILE;
pub const KEYS: &str = "keys";
pub const OBJECTS: &str = "objects";
pub const SUMS: &str = "SHA256SUMS";

/// True if a data directory may have a file of this name. The name stays inside the directory and is not
/// hidden: hidden files are the temporary files of processes.
pub fn is_of_a_data_directory(name: &str) -> bool {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(part) => part.to_str().is_some_and(|part| !part.starts_with('.')),
        _ => false,
    };
    // `components` skips empty and single-dot parts, so check for these here.
    let is_exact = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let has_one_line = !name.contains(['\n', '\r', '\\']);
    if !is_exact || !has_one_line || !Path::new(name).components().all(is_plain) {
        return false;
    }
    match name.split_once('/') {
        None => [FORMAT, RECORDS].contains(&name),
        Some((KEYS, key)) => !key.contains('/'),
        Some((folder, object)) => folder == OBJECTS && object.contains('/'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_a_data_directory_are_taken() {
        for name in [
            "format.json",
            "records.sqlite",
            "keys/sealing.key",
            "objects/data/a",
            "objects/data/a%2F/b.json",
        ] {
            assert!(is_of_a_data_directory(name), "{name}");
        }
        for name in [
            "",
            "/",
            "lock",
            "keys",
            "keys/",
            "keys/a/b",
            "keys/.ssh",
            "keys/../lock",
            "objects/a",
            "objects/.drafts/a",
            "objects/data/../../lock",
            "objects/data/./a",
            "objects//a",
            "objects/data/",
            "/format.json",
            "../format.json",
            "./format.json",
            "records.sqlite-wal",
            "objects/data/a\nb",
            "objects\\data\\a",
        ] {
            assert!(!is_of_a_data_directory(name), "{name}");
        }
    }
}
