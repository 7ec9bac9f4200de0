//! `ops check`: the stored data against the invariants.
//!
//! It reads everything and changes nothing. What is being written while it reads may show as broken: a second check, a
//! moment later, tells.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use platform::Result;
use platform::records::{Key, Table};
use serde_json::{Value, json};

use crate::output::Output;
use crate::target::Target;

/// A prompt template's record and the versions beside it.
#[derive(Default)]
struct Template {
    head: Option<u64>,
    versions: BTreeSet<u64>,
}

/// Checks, prints what is broken, and fails if anything is.
pub async fn run(target: &Target, output: Output) -> Result<ExitCode> {
    let records = everything(&target.records).await?;
    let audit = everything(&target.audit_table).await?;
    let mut findings = Vec::new();
    keys_begin_with_their_tenant(&records, &mut findings);
    keys_begin_with_their_tenant(&audit, &mut findings);
    prompt_versions_are_dense(&records, &mut findings);
    let lines = if findings.is_empty() {
        format!(
            "{} records and {} audit records hold every invariant.",
            records.len(),
            audit.len()
        )
    } else {
        findings.join("\n")
    };
    output.print(
        &json!({ "records": records.len(), "audit_records": audit.len(), "findings": findings }),
        &lines,
    )?;
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn everything(table: &Table) -> Result<Vec<(Key, Value)>> {
    let mut records = Vec::new();
    let mut start = None;
    loop {
        let (page, next) = table.scan(start).await?;
        records.extend(page);
        match next {
            Some(_) => start = next,
            None => return Ok(records),
        }
    }
}

fn keys_begin_with_their_tenant(records: &[(Key, Value)], findings: &mut Vec<String>) {
    for (key, _) in records {
        if key.pk.split('#').take(3).filter(|part| !part.is_empty()).count() < 3 {
            findings.push(format!(
                "The key {} / {} does not begin with account and project.",
                key.pk, key.sk
            ));
        }
    }
}

/// A head's version is the last of its versions, and they are 1, 2, 3, … without a gap.
fn prompt_versions_are_dense(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let mut templates: BTreeMap<String, Template> = BTreeMap::new();
    for (key, record) in records {
        let version = record["version"].as_u64();
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
