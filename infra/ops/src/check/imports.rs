//! Checks imports: an open import has the job that will end it, an ended one has no job, and only a completed
//! one made a version.

use std::collections::{BTreeMap, BTreeSet};

use lake::records::stores::{ImportRecord, ImportStatus};
use platform::records::Key;
use serde_json::Value;

/// Adds a finding for each import without its job, and each job without its import.
pub fn unfinished_ones_have_jobs(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let mut imports = BTreeMap::new();
    let mut jobs = BTreeSet::new();
    for (key, record) in records {
        let store = key.pk.as_str();
        match key.sk.split_once('#') {
            Some(("import", id)) => match serde_json::from_value::<ImportRecord>(record.clone()) {
                Ok(import) => drop(imports.insert((store, id), import)),
                Err(_) => findings.push(format!("The record of the import {id} cannot be read.")),
            },
            Some(("import-job", id)) => drop(jobs.insert((store, id))),
            _ => {}
        }
    }
    for ((store, id), import) in &imports {
        let goes_on = matches!(import.status, ImportStatus::Pending | ImportStatus::Running);
        if goes_on != jobs.contains(&(*store, *id)) {
            findings.push(format!(
                "The import {id} is not over and has no job, or is over and has one."
            ));
        }
        if import.version_id.is_some() != (import.status == ImportStatus::Completed) {
            findings.push(format!(
                "The import {id} is completed without a version, or has one and is not completed."
            ));
        }
    }
    for (store, id) in jobs {
        if !imports.contains_key(&(store, id)) {
            findings.push(format!("The job of the import {id} has no import."));
        }
    }
}
