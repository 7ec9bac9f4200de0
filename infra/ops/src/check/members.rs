//! Checks that the two records of each membership, of its project and of its user, are alike.

use std::collections::BTreeMap;

use platform::records::Key;
use serde_json::Value;

const OF_USERS: &str = "*#*#memberships#";

pub fn both_records_agree(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let (mut of_projects, mut of_users) = (BTreeMap::new(), BTreeMap::new());
    for (key, record) in records {
        if let Some(member) = key.pk.strip_prefix(OF_USERS) {
            of_users.insert((key.sk.clone(), member), record);
        } else if let Some(tenant) = key.pk.strip_suffix("#members") {
            of_projects.insert((tenant.replacen('#', "/", 1), key.sk.as_str()), record);
        }
    }
    let all = of_projects
        .keys()
        .chain(of_users.keys().filter(|place| !of_projects.contains_key(place)));
    for place @ (project, member) in all {
        let what = match (of_projects.get(place), of_users.get(place)) {
            (Some(one), Some(other)) if attributes(one) == attributes(other) => continue,
            (Some(_), Some(_)) => "differs between its project and its user",
            (Some(_), None) => "is not among those of its user",
            (None, _) => "is not among those of its project",
        };
        findings.push(format!("The membership {member} in {project} {what}."));
    }
}

/// Returns the attributes of a record without its key.
fn attributes(record: &Value) -> Value {
    let mut record = record.clone();
    if let Some(attributes) = record.as_object_mut() {
        attributes.retain(|name, _| !["pk", "sk"].contains(&name.as_str()));
    }
    record
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_membership_of_one_record_or_two_unlike_is_a_finding() {
        let entry = |pk: &str, sk: &str, roles: &str| {
            (
                Key::new(pk, sk),
                json!({ "pk": pk, "sk": sk, "user_id": "u", "roles": [roles] }),
            )
        };
        let records = [
            entry("acme#demo#members", "m1", "reader"),
            entry("*#*#memberships#m1", "acme/demo", "reader"),
            entry("acme#demo#members", "m2", "reader"),
            entry("*#*#memberships#m2", "acme/demo", "developer"),
            entry("acme#demo#members", "m3", "reader"),
            entry("*#*#memberships#m4", "acme/demo", "reader"),
            entry("*#*#memberships#m1", "acme/other", "reader"),
        ];
        let mut findings = Vec::new();
        both_records_agree(&records, &mut findings);
        assert_eq!(
            findings,
            [
                "The membership m2 in acme/demo differs between its project and its user.",
                "The membership m3 in acme/demo is not among those of its user.",
                "The membership m4 in acme/demo is not among those of its project.",
                "The membership m1 in acme/other is not among those of its project.",
            ]
        );
    }
}
