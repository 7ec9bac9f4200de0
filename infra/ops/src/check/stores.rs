//! Checks data stores: every version has its manifest; every manifest keeps its invariants and may follow the
//! previous one; every segment exists; every snapshot name leads to its version; and the head has its
//! manifest's numbers.

use std::collections::{BTreeMap, BTreeSet};

use lake::manifest::{Manifest, TableVersion};
use lake::records::stores::{StoreRecord, StoreVersion};
use lake::store::{manifest_key, segment_key};
use platform::objects::Objects;
use platform::records::Key;
use platform::{Result, Tenant};
use serde_json::Value;

/// Adds a finding for each incomplete version.
pub async fn versions_are_whole(
    records: &[(Key, Value)],
    objects: &Objects,
    findings: &mut Vec<String>,
) -> Result<()> {
    let mut known_segments = BTreeSet::new();
    let mut manifests = BTreeMap::new();
    for (key, record) in records {
        let parts: Vec<_> = key.pk.splitn(4, '#').collect();
        match parts.as_slice() {
            [account, project, "store", store] => {
                let Some(version) = key.sk.strip_prefix("version#") else {
                    snapshot_names_a_version(key, record, records, findings);
                    continue;
                };
                let tenant = Tenant::new(account, project)?;
                let Some(mut manifest) = manifest(&tenant, store, version, objects, findings).await? else {
                    continue;
                };
                if !is_described_by(&manifest, record) {
                    findings.push(format!(
                        "The record of the version {version} of the data store {store} and its manifest tell different things."
                    ));
                }
                for segment in manifest.tables.iter().flat_map(|table| &table.segments) {
                    let key = segment_key(&tenant, store, &segment.segment_id);
                    if known_segments.insert(key.clone()) && !objects.exists(&key).await? {
                        findings.push(format!("The segment {key} of the version {version} is missing."));
                    }
                }
                // The remaining checks need only the schemas, and all manifests stay in memory.
                for table in &mut manifest.tables {
                    table.segments.clear();
                }
                manifests.insert(version.to_owned(), manifest);
            }
            [account, project, "stores"] => {
                let tenant = Tenant::new(account, project)?;
                let Ok(head) = serde_json::from_value::<StoreRecord>(record.clone()) else {
                    findings.push(format!("The record of the data store {} cannot be read.", key.sk));
                    continue;
                };
                let manifest = manifest(&tenant, &head.id, &head.version_id, objects, findings).await?;
                if manifest.is_some_and(|manifest| !totals_agree(&head, &manifest)) {
                    findings.push(format!(
                        "The numbers of the data store {} are not those of its version.",
                        head.id
                    ));
                }
            }
            _ => {}
        }
    }
    versions_follow(&manifests, findings);
    Ok(())
}

fn versions_follow(manifests: &BTreeMap<String, Manifest>, findings: &mut Vec<String>) {
    for (version, manifest) in manifests {
        let parent = manifest.parent_version_id.as_ref();
        let Some(parent) = parent.and_then(|parent| manifests.get(parent)) else {
            continue;
        };
        if let Err(broken) = manifest.check_follows(parent) {
            findings.extend(
                broken
                    .into_iter()
                    .map(|sentence| format!("The version {version}: {sentence}.")),
            );
        }
    }
}

fn snapshot_names_a_version(key: &Key, record: &Value, records: &[(Key, Value)], findings: &mut Vec<String>) {
    let Some(name) = key.sk.strip_prefix("snapshot#") else {
        return;
    };
    let version = format!(
        "version#{}",
        record.get("id").and_then(Value::as_str).unwrap_or_default()
    );
    let is_there = records
        .iter()
        .any(|(other, _)| other.pk == key.pk && other.sk == version);
    if !is_there {
        findings.push(format!("The snapshot '{name}' of {} has no version.", key.pk));
    }
}

async fn manifest(
    tenant: &Tenant,
    store: &str,
    version: &str,
    objects: &Objects,
    findings: &mut Vec<String>,
) -> Result<Option<Manifest>> {
    let key = manifest_key(tenant, store, version);
    let Some(bytes) = objects.find(&key).await? else {
        findings.push(format!("The manifest {key} is missing."));
        return Ok(None);
    };
    let Ok(manifest) = Manifest::from_json(&bytes) else {
        findings.push(format!("The manifest {key} cannot be read."));
        return Ok(None);
    };
    if let Err(broken) = manifest.check() {
        findings.extend(
            broken
                .into_iter()
                .map(|sentence| format!("The manifest {key}: {sentence}.")),
        );
    }
    Ok(Some(manifest))
}

/// True if a version's record and its manifest describe the same version.
fn is_described_by(manifest: &Manifest, record: &Value) -> bool {
    let Ok(version) = serde_json::from_value::<StoreVersion>(record.clone()) else {
        return false;
    };
    (version.id, version.parent_version_id, version.schema_version)
        == (
            manifest.version_id.clone(),
            manifest.parent_version_id.clone(),
            manifest.schema_version,
        )
}

fn totals_agree(head: &StoreRecord, manifest: &Manifest) -> bool {
    let rows: u64 = manifest.tables.iter().map(TableVersion::row_count).sum();
    let bytes: u64 = manifest.tables.iter().map(TableVersion::bytes).sum();
    (
        head.table_count,
        head.total_rows,
        head.storage_bytes,
        head.schema_version,
    ) == (manifest.tables.len() as u64, rows, bytes, manifest.schema_version)
}
