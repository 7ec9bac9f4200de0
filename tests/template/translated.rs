//! Reads the template after the SAM transform.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use tests::tools_python;

/// Reads a file of the checkout; tests run in the folder of their crate.
pub fn read(file: &str) -> String {
    let path = Path::new("..").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the texts between `before` and `after`.
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> BTreeSet<&'a str> {
    text.split(before)
        .skip(1)
        .filter_map(|rest| rest.split(after).next())
        .collect()
}

pub fn template() -> &'static Value {
    static TRANSLATED: OnceLock<Value> = OnceLock::new();
    TRANSLATED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(tools_python())
            .args(["../infra/sam/translate.py", "../template.yaml"])
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&std::fs::read(folder.path().join("translated.json")).unwrap()).unwrap()
    })
}

/// Returns the resources of a type, with their names.
pub fn resources(of_type: &str) -> Vec<(&'static str, &'static Value)> {
    let all = template()["Resources"].as_object().unwrap();
    all.iter()
        .filter(|(_, resource)| resource["Type"] == of_type)
        .map(|(name, resource)| (name.as_str(), &resource["Properties"]))
        .collect()
}

/// Returns the crate of each function, with its resource name.
pub fn functions() -> Vec<(&'static str, String)> {
    resources("AWS::Lambda::Function")
        .into_iter()
        .map(|(name, _)| (name, crate_of(name)))
        .collect()
}

/// Returns the crate of a function: `AuditWriterFunction` is the program `audit-writer` of `infra/lambda`.
pub fn crate_of(function: &str) -> String {
    let mut name = String::new();
    for letter in function.strip_suffix("Function").unwrap_or(function).chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
