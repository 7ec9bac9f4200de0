//! Reads manifests that earlier programs stored, and checks that they are written back whole.
//!
//! A fixture is added for each new field, and never changed.
#![cfg(test)]

use std::path::Path;

use lake::manifest::Manifest;
use serde_json::Value;

/// Checks that every stored field was written back with the same value; the output may have more fields.
fn check_kept(stored: &Value, written: &Value, path: &str) {
    match (stored, written) {
        (Value::Object(stored), Value::Object(written)) => {
            for (key, value) in stored {
                // A field of a later program, which readers ignore.
                if key == "written_by" {
                    continue;
                }
                let found = written.get(key);
                check_kept(value, found.unwrap_or(&Value::Null), &format!("{path}.{key}"));
            }
        }
        (Value::Array(stored), Value::Array(written)) => {
            assert_eq!(stored.len(), written.len(), "{path}");
            for (index, (stored, written)) in stored.iter().zip(written).enumerate() {
                check_kept(stored, written, &format!("{path}[{index}]"));
            }
        }
        _ => assert_eq!(stored, written, "{path}"),
    }
}

#[test]
fn every_manifest_that_was_ever_stored_is_read_and_written_back_whole() {
    let folder = Path::new("tests/fixtures");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("manifest-") {
            continue;
        }
        seen += 1;
        let stored = std::fs::read(&path).unwrap();
        let manifest = Manifest::from_json(&stored).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        manifest
            .check()
            .unwrap_or_else(|broken| panic!("{name}: {broken:?}"));
        let written = manifest.to_json().unwrap();
        check_kept(
            &serde_json::from_slice(&stored).unwrap(),
            &serde_json::from_slice(&written).unwrap(),
            &name,
        );
        assert_eq!(Manifest::from_json(&written).unwrap(), manifest, "{name}");
    }
    assert_eq!(seen, 3);
}
