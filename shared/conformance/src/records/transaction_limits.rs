//! Checks DynamoDB's limits of transactions.

use platform::records::store::limits::{MAX_STEPS, MAX_TRANSACTION_BYTES};
use platform::records::store::{Action, Item, Step};
use platform::records::{Condition, Key, Query, Written};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, refused, step};

/// Checks the number of steps, their bytes, and two steps on one item.
pub async fn transaction_limits(subject: &Subject) {
    steps_have_a_number(subject).await;
    items_have_a_size_together(subject).await;
    an_item_has_one_step(subject).await;
}

fn puts(subject: &Subject, pk: &str, number: usize, text: &str) -> Vec<Step> {
    let put = |number: usize| {
        let key = Key::new(pk, format!("{number:03}"));
        let item = Item::from_record(&key, &json!({ "text": text })).unwrap();
        step(
            &subject.tables.records,
            &key,
            Action::Put(item),
            Condition::Absent,
        )
    };
    (0..number).map(put).collect()
}

async fn count(subject: &Subject, pk: &str) -> u64 {
    subject
        .store
        .count(&subject.tables.records, &Query::partition(pk))
        .await
        .unwrap()
}

async fn steps_have_a_number(subject: &Subject) {
    let pk = fresh("transaction-limits");
    refused(
        subject
            .store
            .transact(puts(subject, &pk, MAX_STEPS + 1, ""))
            .await,
    );
    refused(subject.store.transact(Vec::new()).await);
    assert_eq!(count(subject, &pk).await, 0);
    let written = subject.store.transact(puts(subject, &pk, MAX_STEPS, "")).await;
    assert_eq!(written.unwrap(), Written::Done);
    assert_eq!(count(subject, &pk).await, MAX_STEPS as u64);
    // The first of the hundred steps causes the refusal.
    let again = subject.store.transact(puts(subject, &pk, MAX_STEPS, "")).await;
    assert_eq!(again.unwrap(), Written::Refused { step: 0 });
}

async fn items_have_a_size_together(subject: &Subject) {
    let text = "x".repeat(400_000);
    let most = MAX_TRANSACTION_BYTES / text.len();
    let pk = fresh("transaction-limits");
    let written = subject.store.transact(puts(subject, &pk, most, &text)).await;
    assert_eq!(written.unwrap(), Written::Done);
    let beyond = fresh("transaction-limits");
    let written = subject
        .store
        .transact(puts(subject, &beyond, most + 1, &text))
        .await;
    refused(written);
}

async fn an_item_has_one_step(subject: &Subject) {
    let pk = fresh("transaction-limits");
    let key = Key::new(&pk, "000");
    let second = [
        step(&subject.tables.records, &key, Action::Check, Condition::Absent),
        step(&subject.tables.records, &key, Action::Delete, None),
    ];
    for second in second {
        let mut steps = puts(subject, &pk, 2, "");
        steps.push(second);
        refused(subject.store.transact(steps).await);
    }
    assert_eq!(count(subject, &pk).await, 0);
}
