//! Checks changes of single attributes.

use platform::records::store::{Action, Item};
use platform::records::{Changes, Condition, Key, Query, Written};
use serde_json::{Value, json};

use crate::subject::{fresh, refused};
use crate::{Gap, Subject};

/// Checks every kind of change, on attributes that exist, are missing, or have another type.
pub async fn updates(subject: &Subject) {
    each_change_does_its_part(subject).await;
    an_update_makes_a_missing_item(subject).await;
    a_missing_list_is_empty_and_a_missing_number_is_0(subject).await;
    numbers_are_added_exactly(subject).await;
    another_type_is_an_error_and_changes_nothing(subject).await;
    what_dynamodb_cannot_do_is_an_error(subject).await;
    an_update_moves_an_item_in_an_index(subject).await;
}

async fn update(subject: &Subject, key: &Key, changes: Changes) -> platform::Result<Written> {
    subject.write(key, Action::Update(changes), None).await
}

/// Returns an item of the table of records at a fresh key, after these changes.
async fn changed(subject: &Subject, before: Value, changes: Changes) -> Item {
    let key = Key::new(fresh("updates"), "a");
    subject.put(&key, &before).await;
    assert_eq!(update(subject, &key, changes).await.unwrap(), Written::Done);
    subject.find(&key).await.unwrap()
}

async fn each_change_does_its_part(subject: &Subject) {
    let before =
        json!({ "set": 1, "list": ["a", [1]], "number": 5, "gone": "x", "kept": null, "optional": 1 });
    let changes = Changes::default()
        .set("set", &json!({ "to": ["a", "map", ""] }))
        .and_then(|changes| changes.set("new", &Value::Null))
        .and_then(|changes| changes.append("list", &[json!({}), json!("a")]))
        .and_then(|changes| changes.set_or_remove::<u64>("optional", None))
        .unwrap()
        .add("number", -7)
        .remove("gone")
        .remove("never there");
    let item = changed(subject, before, changes).await;
    let mut expected = item.clone();
    expected.retain(|name| name == "pk" || name == "sk");
    expected.set("set", json!({ "to": ["a", "map", ""] }));
    expected.set("new", Value::Null);
    expected.set("list", json!(["a", [1], {}, "a"]));
    expected.set("number", -2);
    expected.set("kept", Value::Null);
    assert_eq!(item, expected);

    // Names with a special meaning in expressions or statements of an adapter.
    let names = [
        "a.b",
        "a[0]",
        "#s0",
        ":s0",
        "name",
        "value",
        "größe",
        "with \"quotes\" and 'others'",
        "$.pk",
    ];
    let mut changes = Changes::default();
    for name in names {
        changes = changes.set(name, &name).unwrap();
    }
    let item = changed(subject, json!({ "a": { "b": 1 } }), changes).await;
    for name in names {
        assert_eq!(item.text(name), Some(name));
    }
    assert_eq!(item.get("a"), Some(&json!({ "b": 1 })));
}

async fn an_update_makes_a_missing_item(subject: &Subject) {
    let key = Key::new(fresh("updates"), "a");
    let changes = Changes::default()
        .set("set", &1)
        .unwrap()
        .add("number", 2)
        .remove("gone");
    assert_eq!(update(subject, &key, changes).await.unwrap(), Written::Done);
    let expected = Item::from_record(&key, &json!({ "set": 1, "number": 2 })).unwrap();
    assert_eq!(subject.find(&key).await, Some(expected));

    // DynamoDB creates the item even if nothing is left to change.
    let key = Key::new(fresh("updates"), "a");
    assert_eq!(
        update(subject, &key, Changes::default().remove("gone"))
            .await
            .unwrap(),
        Written::Done
    );
    assert_eq!(
        subject.find(&key).await,
        Some(Item::from_record(&key, &json!({})).unwrap())
    );
}

async fn a_missing_list_is_empty_and_a_missing_number_is_0(subject: &Subject) {
    let changes = Changes::default()
        .append("list", &[1, 2])
        .unwrap()
        .add("number", 3)
        .add("zero", 0);
    let item = changed(subject, json!({}), changes).await;
    assert_eq!(item.get("list"), Some(&json!([1, 2])));
    assert_eq!(
        (item.get("number"), item.get("zero")),
        (Some(&json!(3)), Some(&json!(0)))
    );
}

async fn numbers_are_added_exactly(subject: &Subject) {
    for (before, amount, after) in [
        (json!(u64::MAX - 1), 1, json!(u64::MAX)),
        (json!(i64::MAX), 1, json!(9_223_372_036_854_775_808_u64)),
        (json!(i64::MIN + 1), -1, json!(i64::MIN)),
        (
            json!(9_007_199_254_740_993_u64),
            2,
            json!(9_007_199_254_740_995_u64),
        ),
        (json!(0.5), 1, json!(1.5)),
        (json!(5), i64::MIN, json!(i64::MIN + 5)),
    ] {
        let item = changed(
            subject,
            json!({ "number": before }),
            Changes::default().add("number", amount),
        )
        .await;
        assert_eq!(item.get("number"), Some(&after), "{before} + {amount}");
    }
}

async fn another_type_is_an_error_and_changes_nothing(subject: &Subject) {
    let key = Key::new(fresh("updates"), "a");
    let record = json!({ "null": null, "text": "1", "map": {}, "number": 1, "list": [1] });
    let before = subject.put(&key, &record).await;
    let appended =
        ["null", "text", "map", "number"].map(|name| Changes::default().append(name, &[1]).unwrap());
    let added = ["null", "text", "map", "list"].map(|name| Changes::default().add(name, 1));
    for changes in appended.into_iter().chain(added) {
        let changes = changes.set("other", &1).unwrap();
        refused(update(subject, &key, changes.clone()).await);
        let step = crate::subject::step(
            &subject.tables.records,
            &key,
            Action::Update(changes.clone()),
            None,
        );
        refused(subject.store.transact(vec![step]).await);
        // The condition is checked first.
        let unmet = subject
            .write(&key, Action::Update(changes), Condition::Absent)
            .await;
        assert_eq!(unmet.unwrap(), Written::Refused { step: 0 });
    }
    assert_eq!(subject.find(&key).await, Some(before));
}

/// Two changes of one attribute, changes of a key, and no change at all are not a valid update expression.
async fn what_dynamodb_cannot_do_is_an_error(subject: &Subject) {
    let key = Key::new(fresh("updates"), "a");
    let before = subject.put(&key, &json!({ "a": 1 })).await;
    let new = Changes::default;
    let key_update = Some(Gap::KeyUpdate);
    for (rule, changes) in [
        (key_update, new().set("pk", &"other").unwrap()),
        (key_update, new().remove("sk")),
        (
            key_update,
            new().set("a", &2).unwrap().set("sk", &"other").unwrap(),
        ),
        (None, new().add("a", 1).add("a", 1)),
        (None, new().add("a", 1).remove("a")),
        (None, new().set("a", &1).unwrap().set("a", &2).unwrap()),
        (None, new().set("a", &1).unwrap().remove("a")),
        (None, new().set("b", &[1]).unwrap().append("b", &[1]).unwrap()),
        (None, new()),
    ] {
        let step = crate::subject::step(
            &subject.tables.records,
            &key,
            Action::Update(changes.clone()),
            None,
        );
        subject.refused(None, &changes, update(subject, &key, changes.clone()).await);
        subject.refused(rule, &changes, subject.store.transact(vec![step]).await);
        subject.put(&key, &json!({ "a": 1 })).await;
    }
    assert_eq!(subject.find(&key).await, Some(before));
}

async fn an_update_moves_an_item_in_an_index(subject: &Subject) {
    let [here, there] = [fresh("updates"), fresh("updates")];
    let key = Key::new(fresh("updates"), "a").with_gsi1(&here, "1");
    subject.put(&key, &json!({ "a": 1 })).await;
    let [from, to] = [&here, &there].map(|pk| Query::partition(pk.as_str()).gsi1());
    let table = &subject.tables.records;
    for (changes, expected_from, expected_to) in [
        (Changes::default().set("a", &2).unwrap(), true, false),
        (
            Changes::default().place("gsi1", there.clone(), "2".to_owned()),
            false,
            true,
        ),
        (Changes::default().leave("gsi1"), false, false),
        (
            Changes::default().place("gsi1", here.clone(), "3".to_owned()),
            true,
            false,
        ),
    ] {
        assert_eq!(update(subject, &key, changes).await.unwrap(), Written::Done);
        let item: Vec<_> = subject.find(&key).await.into_iter().collect();
        let at = |is_there: bool| if is_there { item.clone() } else { Vec::new() };
        subject.shows(table, &from, &at(expected_from)).await;
        subject.shows(table, &to, &at(expected_to)).await;
    }
}
