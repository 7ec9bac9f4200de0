//! Checks prompt templates: a head is the last of its versions, these are 1, 2, 3, … without a gap, and
//! interactions use templates that exist.

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

/// Adds a notice for each interaction that uses a deleted or missing template. A deleted one is still sent,
/// so that this is no broken invariant.
pub fn interactions_use_present_ones(records: &[(Key, Value)], notices: &mut Vec<String>) {
    let (mut present, mut with_content, mut uses) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (key, record) in records {
        let parts: Vec<_> = key.pk.splitn(4, '#').collect();
        match parts.as_slice() {
            [account, project, "prompts"] => {
                present.insert((*account, *project, key.sk.as_str()));
            }
            [account, project, "prompt", id] => {
                with_content.insert((*account, *project, *id));
            }
            [account, project, "prompt-interactions"] => {
                let field = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
                uses.push(((*account, *project, field("prompt_id")), field("id")));
            }
            _ => {}
        }
    }
    for (prompt, interaction) in uses {
        if present.contains(&prompt) {
            continue;
        }
        let (account, project, id) = prompt;
        let what = match with_content.contains(&prompt) {
            true => "is deleted; the interaction goes on with the version that it used",
            false => "does not exist",
        };
        notices.push(format!(
            "The interaction {account}#{project}#{interaction} uses the prompt template {id}, which {what}."
        ));
    }
}
