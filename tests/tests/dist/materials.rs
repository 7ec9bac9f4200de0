//! Tests the bill of materials and the licences of what others wrote.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::artifact::{CHECKOUT, output, platform};

/// Writes the bill of this machine's programs, which holds it against the schema, and returns it.
fn bill(file: &Path) -> Value {
    let mut command = Command::new(tests::dist_tool("python"));
    command.args(["-B", "infra/dist/sbom.py", "millrace", &platform(), "millrace"]);
    output(command.arg(file).current_dir(CHECKOUT));
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn the_bill_of_materials_names_crates_packages_and_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let bill = bill(&folder.path().join("bill.json"));
    let components = bill["components"].as_array().unwrap();
    let names: BTreeSet<&str> = components.iter().filter_map(|one| one["name"].as_str()).collect();
    // Those that only build or test are not there.
    for (name, is_there) in [
        ("libduckdb", true),
        ("svelte", true),
        ("tokio", true),
        ("vega-view", true),
        ("proptest", false),
        ("typescript", false),
        ("vite", false),
    ] {
        assert_eq!(names.contains(name), is_there, "{name}");
    }
    let pins = fs::read_to_string(format!("{CHECKOUT}/infra/duckdb/version.env")).unwrap();
    for component in components {
        assert!(
            !component["licenses"].as_array().unwrap().is_empty(),
            "{component}"
        );
        // Ours are in no registry.
        if component.get("purl").is_some() {
            let hash = component["hashes"][0]["content"].as_str().unwrap();
            assert!(
                component["name"] != "libduckdb" || pins.contains(hash),
                "{component}"
            );
        }
    }
    let known: BTreeSet<&str> = components
        .iter()
        .filter_map(|one| one["bom-ref"].as_str())
        .collect();
    for dependency in bill["dependencies"].as_array().unwrap() {
        for used in dependency["dependsOn"].as_array().into_iter().flatten() {
            assert!(known.contains(used.as_str().unwrap()), "{dependency}");
        }
    }
}
