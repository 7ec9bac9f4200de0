//! Checks dashboards: each has a store and versions 1, 2, 3, … without a gap, each with content; its head
//! names one version and has that version's content; and every active dashboard holds its name.

use std::collections::{BTreeMap, BTreeSet};

use lake::records::dashboards::{
    DashboardRecord, DashboardStatus, DashboardVersionRecord, StoredDashboardVersion,
};
use platform::records::Key;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Default)]
struct Dashboard {
    head: Option<DashboardRecord>,
    versions: BTreeMap<u64, DashboardVersionRecord>,
    contents: BTreeMap<String, StoredDashboardVersion>,
    snapshot_names: BTreeMap<String, String>,
}

/// Adds a finding for each invalid dashboard.
pub fn dashboards_are_whole(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let mut stores = BTreeSet::new();
    let mut names: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut dashboards: BTreeMap<String, Dashboard> = BTreeMap::new();
    for (key, record) in records {
        let mut parts = key.pk.splitn(4, '#');
        let (Some(account), Some(project), Some(kind)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let rest = parts.next().unwrap_or_default();
        let id = |id: &str| format!("{account}#{project}#{id}");
        match (kind, key.sk.split_once('#')) {
            ("stores", _) => {
                stores.insert(id(&key.sk));
            }
            ("dashboards", _) => {
                dashboards.entry(id(&key.sk)).or_default().head = read(key, record, findings);
            }
            ("dashboard-names", _) => {
                names.insert((id(rest), key.sk.clone()), id_of(record));
            }
            ("dashboard", Some(("version", _))) => {
                let version: Option<DashboardVersionRecord> = read(key, record, findings);
                let entry = dashboards.entry(id(rest)).or_default();
                entry
                    .versions
                    .extend(version.map(|version| (version.version_number, version)));
            }
            ("dashboard", Some(("content", version))) => {
                let content = read(key, record, findings).map(|content| (version.to_owned(), content));
                dashboards.entry(id(rest)).or_default().contents.extend(content);
            }
            ("dashboard", Some(("snapshot-name", name))) => {
                let entry = dashboards.entry(id(rest)).or_default();
                entry.snapshot_names.insert(name.to_owned(), id_of(record));
            }
            _ => {}
        }
    }
    for (id, dashboard) in &dashboards {
        let mut report = |what: &str| findings.push(format!("The dashboard {id} {what}."));
        let Some(head) = &dashboard.head else {
            report("has versions and no record");
            continue;
        };
        check_versions(dashboard, head, &mut report);
        let tenant = id.strip_suffix(&head.id).unwrap_or_default();
        let store = format!("{tenant}{}", head.store_id);
        if !stores.contains(&store) {
            report("is of a data store that does not exist");
        }
        let name = names.get(&(store, head.content.name.to_lowercase()));
        let holds_name = name == Some(&head.id);
        if holds_name != (head.status == DashboardStatus::Active) {
            report("is archived and holds its name, or is active and does not");
        }
    }
}

fn check_versions(dashboard: &Dashboard, head: &DashboardRecord, report: &mut impl FnMut(&str)) {
    let numbers = dashboard.versions.keys().copied();
    if !numbers.eq(1..=head.last_version) {
        report("has a gap in its versions, or more of them than it says");
    }
    if dashboard.versions.get(&head.current.version_number) != Some(&head.current) {
        report("is at a version that does not exist");
    }
    let is_kept = |version: &DashboardVersionRecord| {
        let content = dashboard.contents.get(&version.id);
        content.is_some_and(|content| content.version == *version)
    };
    if dashboard.contents.len() != dashboard.versions.len() || !dashboard.versions.values().all(is_kept) {
        report("has a version without its content, or a content without its version");
    }
    let current = dashboard.contents.get(&head.current.id);
    if current.is_some_and(|current| current.content != head.content) {
        report("is not what its current version keeps");
    }
    let snapshots = dashboard.versions.values().filter(|version| version.is_snapshot);
    let names: BTreeMap<_, _> = snapshots
        .filter_map(|version| Some((version.name.as_ref()?.to_lowercase(), version.id.clone())))
        .collect();
    if names != dashboard.snapshot_names {
        report("has a snapshot that does not hold its name");
    }
}

fn read<T: DeserializeOwned>(key: &Key, record: &Value, findings: &mut Vec<String>) -> Option<T> {
    let value = serde_json::from_value(record.clone()).ok();
    if value.is_none() {
        findings.push(format!("The record {} / {} cannot be read.", key.pk, key.sk));
    }
    value
}

/// Returns the id that a name's record holds.
fn id_of(record: &Value) -> String {
    record
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
