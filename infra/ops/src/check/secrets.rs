//! Checks secrets: each is bound to what may use it, and no inline definition names one where its project
//! does not allow that.

use std::collections::BTreeSet;

use platform::records::Key;
use serde_json::Value;

/// Adds a finding for each secret without a binding, which nothing can use, and for each subscription whose
/// runs are refused their secrets.
pub fn secrets_are_bound(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let mut allowed = BTreeSet::new();
    let mut inline = Vec::new();
    for (key, record) in records {
        let parts: Vec<_> = key.pk.splitn(3, '#').collect();
        let [account, project, kind] = parts.as_slice() else {
            continue;
        };
        let tenant = format!("{account}#{project}");
        match *kind {
            "process-secrets" if record.get("binding").is_none_or(Value::is_null) => findings.push(format!(
                "The secret {name} of {tenant} is not bound, and nothing can use it; bind it with 'ops secret bind {name}'.",
                name = key.sk
            )),
            "process-settings" if record.get("secrets").and_then(Value::as_bool) == Some(true) => {
                allowed.insert(tenant);
            }
            "subscriptions" if names_secrets(record) => inline.push((tenant, &key.sk)),
            _ => {}
        }
    }
    for (tenant, id) in inline {
        if !allowed.contains(&tenant) {
            findings.push(format!(
                "The subscription {id} of {tenant} has an inline definition that names secrets, which its runs do not get."
            ));
        }
    }
}

fn names_secrets(record: &Value) -> bool {
    let document = record.get("document").and_then(Value::as_str);
    let document = document.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let secrets = document
        .as_ref()
        .and_then(|document| document.pointer("/target/definition/use/secrets"));
    secrets
        .and_then(Value::as_array)
        .is_some_and(|secrets| !secrets.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_without_a_binding_and_inline_definition_that_names_one_are_findings() {
        let entry = |pk: &str, sk: &str, record: Value| (Key::new(pk, sk), record);
        let definition = |secrets: Value| json!({ "definition": { "use": { "secrets": secrets } } });
        let subscription = |target: Value| json!({ "document": json!({ "target": target }).to_string() });
        let binding = json!({ "processes": ["n/p"], "mcp_servers": [], "hosts": ["a.example"] });
        let records = [
            entry(
                "acme#demo#process-secrets",
                "new",
                json!({ "name": "new", "binding": binding }),
            ),
            entry("acme#demo#process-secrets", "old", json!({ "name": "old" })),
            entry(
                "acme#demo#process-settings",
                "inline",
                json!({ "secrets": false }),
            ),
            entry(
                "acme#demo#subscriptions",
                "a",
                subscription(definition(json!(["key"]))),
            ),
            entry(
                "acme#demo#subscriptions",
                "b",
                subscription(definition(json!([]))),
            ),
            entry(
                "acme#demo#subscriptions",
                "c",
                subscription(json!({ "process_ref": "n/p" })),
            ),
            entry(
                "acme#open#subscriptions",
                "d",
                subscription(definition(json!(["key"]))),
            ),
            entry("acme#open#process-settings", "inline", json!({ "secrets": true })),
        ];
        let mut findings = Vec::new();
        secrets_are_bound(&records, &mut findings);
        assert_eq!(
            findings,
            [
                "The secret old of acme#demo is not bound, and nothing can use it; bind it with 'ops secret bind old'.",
                "The subscription a of acme#demo has an inline definition that names secrets, which its runs do not get.",
            ]
        );
    }
}
