//! Checks every condition on items that are missing, lack the attribute, or have another type there.

use platform::records::schema::EXPIRES_AT;
use platform::records::store::{Action, Item};
use platform::records::{Changes, Condition, Key, Written};
use serde_json::{Value, json};

use crate::Subject;
use crate::subject::fresh;

/// Checks conditions of puts, updates, deletes and checks, alone and in transactions.
pub async fn conditions(subject: &Subject) {
    let items = [
        None,
        Some(json!({})),
        Some(json!({ "a": 5, EXPIRES_AT: 100 })),
        Some(json!({ "a": 6, EXPIRES_AT: 101 })),
        Some(json!({ "a": 4.5, EXPIRES_AT: 99.5 })),
        Some(json!({ "a": -1, EXPIRES_AT: -1 })),
        Some(json!({ "a": u64::MAX, EXPIRES_AT: u64::MAX })),
        Some(json!({ "a": "5", EXPIRES_AT: "5" })),
        Some(json!({ "a": "", EXPIRES_AT: true })),
        Some(json!({ "a": "ü", EXPIRES_AT: null })),
        Some(json!({ "a": null, EXPIRES_AT: [] })),
        Some(json!({ "a": [5], EXPIRES_AT: {} })),
        Some(json!({ "a": { "a": 5 } })),
    ];
    for item in &items {
        for (condition, holds) in expected(item.as_ref()) {
            let name = format!("{condition:?} on {item:?}");
            for in_transaction in [false, true] {
                for action in ["put", "update", "delete", "check"] {
                    let name = format!("{action} if {name}, in a transaction: {in_transaction}");
                    check(
                        subject,
                        item.as_ref(),
                        action,
                        &condition,
                        in_transaction,
                        holds,
                        &name,
                    )
                    .await;
                }
            }
        }
    }
}

/// Returns conditions, and whether they hold for an item in DynamoDB.
fn expected(item: Option<&Value>) -> Vec<(Condition, bool)> {
    let value = item.and_then(|item| item.get("a"));
    let number = value.and_then(Value::as_f64);
    let expires_at = item.and_then(|item| item.get(EXPIRES_AT)).and_then(Value::as_f64);
    let text = value.and_then(Value::as_str);
    vec![
        (Condition::Absent, item.is_none()),
        (Condition::Present, item.is_some()),
        (Condition::NumberIs("a", 5), number == Some(5.0)),
        (
            Condition::NumberIs("a", u64::MAX),
            value == Some(&json!(u64::MAX)),
        ),
        (
            Condition::NumberBelow("a", 5),
            number.is_some_and(|number| number < 5.0),
        ),
        (
            Condition::NumberBelow("a", 0),
            number.is_some_and(|number| number < 0.0),
        ),
        (
            Condition::NumberBelow("a", u64::MAX),
            number.is_some() && value != Some(&json!(u64::MAX)),
        ),
        (Condition::TextIs("a", "5".to_owned()), text == Some("5")),
        (Condition::TextIs("a", String::new()), text == Some("")),
        (Condition::TextIs("a", "ü".to_owned()), text == Some("ü")),
        (Condition::Has("a"), value.is_some()),
        (Condition::Lacks("a"), item.is_some() && value.is_none()),
        (
            Condition::AbsentOrExpired(100),
            item.is_none() || expires_at.is_some_and(|expires_at| expires_at < 100.0),
        ),
    ]
}

async fn check(
    subject: &Subject,
    before: Option<&Value>,
    action: &str,
    condition: &Condition,
    in_transaction: bool,
    holds: bool,
    name: &str,
) {
    // Later than any removal of expired items.
    let key = Key::new(fresh("conditions"), "a");
    let before = match before {
        Some(before) => Some(subject.put(&key, before).await),
        None => None,
    };
    let new = Item::from_record(&key, &json!({ "new": 1 })).unwrap();
    let action = match action {
        "put" => Action::Put(new.clone()),
        "update" => Action::Update(Changes::default().set("new", &1).unwrap()),
        "delete" => Action::Delete,
        _ => Action::Check,
    };
    let after = match (&action, &before) {
        _ if !holds => before.clone(),
        (Action::Put(_), _) | (Action::Update(_), None) => Some(new),
        (Action::Update(changes), Some(item)) => {
            let mut item = item.clone();
            changes.apply(&mut item).unwrap();
            Some(item)
        }
        (Action::Delete, _) => None,
        (Action::Check, _) => before.clone(),
    };
    let step = crate::subject::step(&subject.tables.records, &key, action, condition.clone());
    let written = if in_transaction {
        subject.store.transact(vec![step]).await
    } else {
        subject.store.write(step).await
    };
    let expected = if holds {
        Written::Done
    } else {
        Written::Refused { step: 0 }
    };
    assert_eq!(written.unwrap(), expected, "{name}");
    assert_eq!(subject.find(&key).await, after, "{name}");
}
