//! Checks prompt templates: a head is the last of its versions, and these are 1, 2, 3, … without a gap.

use std::collections::{BTreeMap, BTreeSet};

use platform::records::Key;
use serde_json::Value;

#[derive(Default)]
struct Template {
    head: Option<u64>,
    versions: BTreeSet<u64>,
}

/// Adds a finding for each template with missing or extra versions.
pub fn versions_are_dense(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let mut templates: BTreeMap<String, Template> = BTreeMap::new();
    for (key, record) in records {
        let version = record.get("version").and_then(Value::as_u64);
        let parts: Vec<_> = key.pk.splitn(4, '#').collect();
        match parts.as_slice() {
            [account, project, "prompts"] => {
                templates
                    .entry(format!("{account}#{project}#{}", key.sk))
                    .or_default()
                    .head = version;
            }
            [account, project, "prompt", id] if key.sk.starts_with("version#") => {
                templates
                    .entry(format!("{account}#{project}#{id}"))
                    .or_default()
                    .versions
                    .extend(version);
            }
            _ => {}
        }
    }
    for (id, template) in templates {
        let count = template.versions.len() as u64;
        if template.versions.last() != Some(&count) {
            findings.push(format!("The versions of the prompt template {id} have a gap."));
        }
        if template.head.is_some_and(|head| head != count) {
            findings.push(format!("The prompt template {id} is not at its last version."));
        }
    }
}
