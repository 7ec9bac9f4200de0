//! Checks steps that are committed together or not at all.

use platform::records::store::{Action, Item, Step};
use platform::records::{Changes, Condition, Key, Query, Written};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, refused, step};

/// Checks transactions over two tables: all or nothing, and the first refused step.
pub async fn transactions(subject: &Subject) {
    every_action_happens_in_two_tables(subject).await;
    the_first_refusing_step_is_named(subject).await;
    an_error_changes_nothing(subject).await;
    one_winner_of_many_writers(subject).await;
}

async fn every_action_happens_in_two_tables(subject: &Subject) {
    let pk = fresh("transactions");
    let key = |sk: &str| Key::new(&pk, sk);
    let [records, others] = [&*subject.tables.records, &*subject.tables.others];
    for (table, sk) in [(records, "changed"), (others, "deleted"), (others, "checked")] {
        subject.put_into(table, &key(sk), &json!({ "number": 1 })).await;
    }
    let in_index = fresh("transactions");
    let put = Key::new(&pk, "put").with_gsi1(&in_index, "1");
    let item = Item::from_record(&put, &json!({ "new": true })).unwrap();
    let add = || Action::Update(Changes::default().add("number", 1));
    let steps = vec![
        step(records, &put, Action::Put(item.clone()), Condition::Absent),
        step(records, &key("changed"), add(), Condition::NumberIs("number", 1)),
        step(records, &key("made"), add(), None),
        step(others, &key("deleted"), Action::Delete, Condition::Present),
        step(others, &key("checked"), Action::Check, Condition::Has("number")),
        // The same key as above, in another table.
        step(others, &key("changed"), add(), Condition::Absent),
    ];
    assert_eq!(subject.store.transact(steps).await.unwrap(), Written::Done);
    for (table, sk, number) in [
        (records, "changed", Some(2)),
        (records, "made", Some(1)),
        (others, "deleted", None),
        (others, "checked", Some(1)),
        (others, "changed", Some(1)),
    ] {
        let found = subject.store.find(table, &key(sk)).await.unwrap();
        let found = found.and_then(|item| item.get("number")?.as_u64());
        assert_eq!(found, number, "{sk} of {table}");
    }
    assert_eq!(subject.find(&put).await, Some(item.clone()));
    subject
        .shows(records, &Query::partition(&in_index).gsi1(), &[item])
        .await;
}

async fn the_first_refusing_step_is_named(subject: &Subject) {
    let pk = fresh("transactions");
    let there = Key::new(&pk, "there");
    subject.put(&there, &json!({ "number": 1 })).await;
    let [records, others] = [&*subject.tables.records, &*subject.tables.others];
    let put = |table: &str, sk: &str, condition: Condition| {
        let key = Key::new(&pk, sk);
        let item = Item::from_record(&key, &json!({})).unwrap();
        step(table, &key, Action::Put(item), condition)
    };
    let refusing: [fn(&Key, &str) -> Step; 4] = [
        |key, table| step(table, key, Action::Check, Condition::NumberIs("number", 2)),
        |key, table| step(table, key, Action::Delete, Condition::Lacks("number")),
        |key, table| {
            step(
                table,
                key,
                Action::Put(Item::from_record(key, &json!({})).unwrap()),
                Condition::Absent,
            )
        },
        |key, table| {
            let changes = Changes::default().add("number", 1);
            step(
                table,
                key,
                Action::Update(changes),
                Condition::NumberBelow("number", 1),
            )
        },
    ];
    for refusing in refusing {
        for place in 0..4 {
            let mut steps = vec![
                put(records, "a", Condition::Absent),
                put(others, "b", Condition::Absent),
                put(records, "c", Condition::Absent),
            ];
            steps.insert(place, refusing(&there, records));
            // A later step whose condition does not hold either.
            steps.push(put(others, "there", Condition::Present));
            let refused = subject.store.transact(steps).await;
            assert_eq!(refused.unwrap(), Written::Refused { step: place });
        }
    }
    nothing_but(subject, &pk, "there").await;
    assert_eq!(subject.find(&there).await.unwrap().get("number"), Some(&json!(1)));
}

async fn an_error_changes_nothing(subject: &Subject) {
    let pk = fresh("transactions");
    let text = Key::new(&pk, "text");
    subject.put(&text, &json!({ "text": "x" })).await;
    let new = Key::new(&pk, "new");
    let item = Item::from_record(&new, &json!({})).unwrap();
    let put = |table: &str| step(table, &new, Action::Put(item.clone()), None);
    let add = step(
        &subject.tables.records,
        &text,
        Action::Update(Changes::default().add("text", 1)),
        None,
    );
    let steps = vec![put(&subject.tables.others), put(&subject.tables.records), add];
    refused(subject.store.transact(steps).await);
    nothing_but(subject, &pk, "text").await;
}

/// Checks that a partition contains only this item, in two tables.
async fn nothing_but(subject: &Subject, pk: &str, sk: &str) {
    let items = subject
        .walk(&subject.tables.records, &Query::partition(pk), 10)
        .await;
    assert_eq!(crate::subject::texts(&items, "sk"), [sk]);
    let others = subject
        .store
        .count(&subject.tables.others, &Query::partition(pk))
        .await;
    assert_eq!(others.unwrap(), 0);
}

/// Each writer retries contended writes; one of each round succeeds.
async fn one_winner_of_many_writers(subject: &Subject) {
    const WRITERS: u64 = 8;
    let pk = fresh("transactions");
    let [counter, other] = ["counter", "other"].map(|sk| Key::new(&pk, sk));
    subject.put(&counter, &json!({ "version": 0 })).await;
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let (subject, counter, other) = (subject.clone(), counter.clone(), other.clone());
        writers.push(tokio::spawn(async move {
            loop {
                let version = subject
                    .find(&counter)
                    .await
                    .unwrap()
                    .get("version")
                    .unwrap()
                    .as_u64()
                    .unwrap();
                let changes = Changes::default().add("version", 1);
                let steps = vec![
                    step(
                        &subject.tables.records,
                        &counter,
                        Action::Update(changes.clone()),
                        Condition::NumberIs("version", version),
                    ),
                    step(&subject.tables.others, &other, Action::Update(changes), None),
                ];
                if subject.store.transact(steps).await.unwrap() == Written::Done {
                    return;
                }
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let counter = subject.find(&counter).await.unwrap();
    let other = subject
        .store
        .find(&subject.tables.others, &other)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        [counter.get("version"), other.get("version")],
        [Some(&json!(WRITERS)); 2]
    );
}
