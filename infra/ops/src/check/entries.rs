//! Checks that the stored count of subscriptions, channels and listening runs equals their number, and that
//! of bytes the size of the subscriptions.

use std::collections::BTreeMap;

use platform::records::Key;
use serde_json::Value;

pub fn counts_are_right(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for (key, record) in records {
        *counts.entry(&key.pk).or_default() += 1;
        let document = record.get("document").and_then(Value::as_str);
        *bytes.entry(&key.pk).or_default() += document.map_or(0, |document| document.len() as u64);
    }
    for (key, record) in records {
        let Some(entries) = key.pk.strip_suffix("-changed") else {
            continue;
        };
        let mut counted = Vec::new();
        if let Some(project) = entries.strip_suffix("#subscriptions") {
            counted.push(("entries", entries.to_owned()));
            counted.push(("listeners", format!("{project}#listeners")));
            let count = record.get("bytes").and_then(Value::as_u64).unwrap_or(0);
            let there = bytes.get(entries).copied().unwrap_or(0);
            if count != there {
                findings.push(format!(
                    "The size of {entries} is {count} bytes, but they have {there}."
                ));
            }
        } else if entries.ends_with("#channels") {
            counted.push(("entries", entries.to_owned()));
        }
        for (name, partition) in counted {
            let count = record.get(name).and_then(Value::as_i64).unwrap_or(0);
            let there = counts.get(partition.as_str()).copied().unwrap_or(0);
            if count != there {
                findings.push(format!(
                    "The count of {partition} is {count}, but there are {there}."
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wrong_count_is_a_finding() {
        let entry = |pk: &str, sk: &str, record: Value| (Key::new(pk, sk), record);
        let records = [
            entry("acme#demo#channels", "a", json!({ "id": "a" })),
            entry("acme#demo#channels", "b", json!({ "id": "b" })),
            entry("acme#demo#channels-changed", "last", json!({ "entries": 2 })),
            entry(
                "acme#demo#subscriptions",
                "a",
                json!({ "id": "a", "document": "{}" }),
            ),
            entry(
                "acme#demo#subscriptions-changed",
                "last",
                json!({ "change": 7, "bytes": 3 }),
            ),
            entry(
                "acme#other#subscriptions-changed",
                "last",
                json!({ "entries": 1, "listeners": 2 }),
            ),
            entry("acme#other#listeners", "r#l", json!({ "run_id": "r" })),
        ];
        let mut findings = Vec::new();
        counts_are_right(&records, &mut findings);
        assert_eq!(
            findings,
            [
                "The size of acme#demo#subscriptions is 3 bytes, but they have 2.",
                "The count of acme#demo#subscriptions is 0, but there are 1.",
                "The count of acme#other#subscriptions is 1, but there are 0.",
                "The count of acme#other#listeners is 2, but there are 1.",
            ]
        );
    }
}
