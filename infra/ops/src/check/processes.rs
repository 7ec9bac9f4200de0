//! Checks processes: each name, and each subscription with an inline definition, refers to a stored text with
//! the right digest.

use std::collections::BTreeMap;

use platform::records::Key;
use process::records::processes::digest;
use serde_json::Value;

/// Adds a finding for each missing text and each text with another digest.
pub fn texts_are_there(records: &[(Key, Value)], findings: &mut Vec<String>) {
    let mut texts: BTreeMap<(String, &str), Option<&str>> = BTreeMap::new();
    let mut uses: Vec<(String, String, &str)> = Vec::new();
    let mut documents = Vec::new();
    for (key, record) in records {
        let parts: Vec<_> = key.pk.splitn(4, '#').collect();
        let text_of = |name: &str| record.get(name).and_then(Value::as_str);
        match parts.as_slice() {
            [account, project, "process-definition", digest] => {
                texts.insert((format!("{account}#{project}"), digest), text_of("text"));
            }
            [account, project, "processes"] => {
                if let Some(digest) = text_of("digest") {
                    let what = format!("process {}", key.sk);
                    uses.push((format!("{account}#{project}"), what, digest));
                }
            }
            [account, project, "subscriptions"] => {
                let document = text_of("document").and_then(|text| serde_json::from_str::<Value>(text).ok());
                let digest = document
                    .as_ref()
                    .and_then(|document| document.get("definition_digest")?.as_str())
                    .map(str::to_owned);
                documents
                    .extend(digest.map(|digest| (format!("{account}#{project}"), key.sk.clone(), digest)));
            }
            _ => {}
        }
    }
    for (tenant, id, digest) in &documents {
        uses.push((tenant.clone(), format!("subscription {id}"), digest));
    }
    for (tenant, what, digest) in &uses {
        if !texts.contains_key(&(tenant.clone(), *digest)) {
            findings.push(format!(
                "The {what} of {tenant} names the definition {digest}, which is not there."
            ));
        }
    }
    for ((tenant, id), text) in &texts {
        // A large text is in the bucket, under its digest.
        if text.is_some_and(|text| digest(text) != *id) {
            findings.push(format!("The definition {id} of {tenant} is another text."));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_is_missing_or_another_is_a_finding() {
        let entry = |pk: &str, sk: &str, record: Value| (Key::new(pk, sk), record);
        let good = digest("a");
        let inline = json!({ "definition_digest": "gone" }).to_string();
        let records = [
            entry(
                &format!("acme#demo#process-definition#{good}"),
                "text",
                json!({ "text": "a" }),
            ),
            entry("acme#demo#process-definition#bad", "text", json!({ "text": "b" })),
            entry(
                "acme#demo#process-definition#large",
                "text",
                json!({ "key": "payloads/x" }),
            ),
            entry("acme#demo#processes", "n/a@1.0.0", json!({ "digest": good })),
            entry("acme#demo#processes", "n/b@1.0.0", json!({ "digest": "large" })),
            entry("acme#other#processes", "n/a@1.0.0", json!({ "digest": "large" })),
            entry("acme#demo#subscriptions", "s", json!({ "document": inline })),
        ];
        let mut findings = Vec::new();
        texts_are_there(&records, &mut findings);
        assert_eq!(
            findings,
            [
                "The process n/a@1.0.0 of acme#other names the definition large, which is not there.",
                "The subscription s of acme#demo names the definition gone, which is not there.",
                "The definition bad of acme#demo is another text.",
            ]
        );
    }
}
