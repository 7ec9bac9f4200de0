//! Compares the store with a map in memory, operation by operation.

use std::collections::{BTreeMap, BTreeSet};

use embedded::sqlite::SqliteRecords;
use platform::records::schema::{DUE, GSI1, SUMMARY, indexes};
use platform::records::store::checks::{check_step, check_values};
use platform::records::store::{
    Action, Changes, Condition, Item, Key, Order, Query, RecordStore as _, Sort, Step, Written, key_names,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

type Model = BTreeMap<(String, String, String), Item>;

const INDEXES: [&str; 3] = [DUE, GSI1, "gsi2"];

#[derive(Clone, Debug)]
enum Operation {
    Transact(Vec<Step>),
    Add(Key, u64),
    Expire(i64),
    Reopen,
}

fn key_text() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "a#", "a#b", "b", "é", "\u{10ffff}"]).prop_map(str::to_owned)
}

fn a_key() -> impl Strategy<Value = Key> {
    (prop::sample::select(vec!["p", "q"]), key_text()).prop_map(|(pk, sk)| Key::new(pk, sk))
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        (0..4_u64).prop_map(Value::from),
        any::<f64>().prop_map(|number| if number.is_finite() {
            json!(number)
        } else {
            json!(0.1)
        }),
        key_text().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!([1, { "a": null }])),
    ]
}

fn name() -> impl Strategy<Value = String> {
    let names = vec![
        "n",
        "text",
        "list",
        "summary",
        "expires_at",
        "gsi1pk",
        "listed_at",
        "gsi2pk",
        "due_shard",
        "due_at",
    ];
    prop::sample::select(names).prop_map(str::to_owned)
}

fn attributes() -> impl Strategy<Value = BTreeMap<String, Value>> {
    prop::collection::btree_map(name(), value(), 0..8)
}

fn place() -> impl Strategy<Value = Vec<(String, Value)>> {
    let place = (prop::sample::select(INDEXES.to_vec()), key_text());
    prop::collection::vec(place, 0..3).prop_map(|places| {
        let keyed = places.into_iter().flat_map(|(index, sk)| {
            let [pk_name, sk_name] = key_names(index);
            [
                (pk_name.into_owned(), json!("i")),
                (sk_name.into_owned(), json!(sk)),
            ]
        });
        keyed.collect()
    })
}

fn changes() -> impl Strategy<Value = Changes> {
    let appended = prop::collection::vec(value(), 0..2);
    let numbers = prop::collection::vec((Just("n".to_owned()), -3..3_i64), 0..2);
    let removed = prop::collection::vec(name(), 0..2);
    (attributes(), place(), appended, numbers, removed).prop_map(|(set, places, appended, add, remove)| {
        Changes {
            set: set.into_iter().chain(places).collect(),
            append: vec![("list".to_owned(), appended)],
            add,
            remove,
        }
    })
}

fn action() -> impl Strategy<Value = Option<Action>> {
    prop_oneof![
        3 => (attributes(), place()).prop_map(|(attributes, places)| {
            let mut item = Item::default();
            for (name, value) in attributes.into_iter().chain(places) {
                item.set(name, value);
            }
            Some(Action::Put(item))
        }),
        4 => changes().prop_map(|changes| Some(Action::Update(changes))),
        1 => Just(Some(Action::Delete)),
        1 => Just(Some(Action::Check)),
    ]
}

fn condition() -> impl Strategy<Value = Option<Condition>> {
    prop_oneof![
        6 => Just(None),
        1 => Just(Some(Condition::Absent)),
        1 => Just(Some(Condition::Present)),
        1 => (0..4_u64).prop_map(|number| Some(Condition::NumberIs("n", number))),
        1 => (0..4_u64).prop_map(|number| Some(Condition::NumberBelow("n", number))),
        1 => key_text().prop_map(|text| Some(Condition::TextIs("text", text))),
        1 => Just(Some(Condition::Has("summary"))),
        1 => Just(Some(Condition::Lacks("summary"))),
        1 => (0..4_i64).prop_map(|now| Some(Condition::AbsentOrExpired(now))),
    ]
}

fn a_step() -> impl Strategy<Value = Step> {
    let table = prop::sample::select(vec![RECORDS, LISTED]);
    (table, a_key(), action(), condition()).prop_map(|(table, key, action, condition)| {
        let mut action = action.unwrap();
        if let Action::Put(item) = &mut action {
            item.set("pk", key.pk.as_str());
            item.set("sk", key.sk.as_str());
        }
        step(table, key, action, condition)
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        20 => prop::collection::vec(a_step(), 1..5).prop_map(Operation::Transact),
        2 => (a_key(), 0..5_u64).prop_map(|(key, amount)| Operation::Add(key, amount)),
        1 => (-2..6_i64).prop_map(Operation::Expire),
        1 => Just(Operation::Reopen),
    ]
}

fn place_of(step: &Step) -> (String, String, String) {
    (step.table.to_string(), step.key.pk.clone(), step.key.sk.clone())
}

/// Returns the expected answer of the store; None for a final error.
fn transact(model: &mut Model, steps: &[Step]) -> Option<Written> {
    let places: BTreeSet<_> = steps.iter().map(place_of).collect();
    if places.len() < steps.len() || steps.iter().any(|step| check_step(step).is_err()) {
        return None;
    }
    for (at, step) in steps.iter().enumerate() {
        let item = model.get(&place_of(step));
        if step
            .condition
            .as_ref()
            .is_some_and(|condition| !condition.holds(item))
        {
            return Some(Written::Refused { step: at });
        }
    }
    let mut next = model.clone();
    for step in steps {
        let place = place_of(step);
        match &step.action {
            Action::Put(item) => drop(next.insert(place.clone(), item.clone())),
            Action::Delete => drop(next.remove(&place)),
            Action::Check => {}
            Action::Update(changes) => {
                let made = item(&step.key, json!({}));
                changes.apply(next.entry(place.clone()).or_insert(made)).ok()?;
            }
        }
        let indexes = TABLES
            .iter()
            .find(|(name, _)| *name == place.0)
            .map(|(_, kind)| indexes(*kind))?;
        if let Some(item) = next.get(&place) {
            check_values(item, indexes.iter().copied()).ok()?;
        }
    }
    *model = next;
    Some(Written::Done)
}

/// Returns the items of a range with the attributes that an index carries, in ascending order.
fn range(model: &Model, table: &str, query: &Query) -> Vec<Item> {
    let [pk_name, sk_name] = query.index.map_or(["pk".into(), "sk".into()], key_names);
    let has = |text: &str| match &query.sort {
        Sort::All => true,
        Sort::Prefix(prefix) => text.starts_with(prefix),
        Sort::Between(low, high) => (low.as_str()..=high.as_str()).contains(&text),
    };
    let mut found = Vec::new();
    for ((of, pk, sk), item) in model {
        let (Some(in_pk), Some(in_sk)) = (item.text(&pk_name), item.text(&sk_name)) else {
            continue;
        };
        if of == table && in_pk == query.pk && has(in_sk) {
            found.push(((in_sk.to_owned(), pk, sk), item.clone()));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut items: Vec<Item> = found.into_iter().map(|(_, item)| item).collect();
    if let (LISTED, Some(index)) = (table, query.index) {
        let keys = ["pk", "sk", &pk_name, &sk_name];
        for item in &mut items {
            item.retain(|name| keys.contains(&name) || (index != DUE && name == SUMMARY));
        }
    }
    items
}

async fn compare(store: &SqliteRecords, model: &Model) {
    for (table, indexes) in [(RECORDS, &INDEXES[..2]), (LISTED, &INDEXES[..])] {
        let mut queries = vec![Query::partition("p"), Query::partition("q")];
        queries.extend(indexes.iter().map(|index| Query::partition("i").index(index)));
        for query in queries {
            for query in [
                query.clone(),
                query.clone().prefix("a#"),
                query.between("a#", "é"),
            ] {
                let mut expected = range(model, table, &query);
                assert_eq!(store.count(table, &query).await.unwrap(), expected.len() as u64);
                assert_eq!(all(store, table, &query, 2).await.0, expected, "{query:?}");
                expected.reverse();
                let query = query.order(Order::Descending);
                assert_eq!(all(store, table, &query, 3).await.0, expected, "{query:?}");
            }
        }
    }
}

async fn run(operations: Vec<Operation>) {
    let folder = Folder::new();
    let (mut store, mut model) = (folder.open(), Model::new());
    for operation in operations {
        match operation {
            Operation::Transact(steps) => {
                let expected = transact(&mut model, &steps);
                let written = store.transact(steps.clone()).await;
                assert_eq!(written.ok(), expected, "{steps:?}");
                for step in steps {
                    let found = store.find(&step.table, &step.key).await.unwrap();
                    assert_eq!(found.as_ref(), model.get(&place_of(&step)));
                }
            }
            Operation::Add(key, amount) => {
                let changes = Changes::default()
                    .add("n", amount as i64)
                    .set("expires_at", &3)
                    .unwrap();
                let step = update(RECORDS, key.clone(), changes);
                let expected = transact(&mut model, std::slice::from_ref(&step));
                let number = store.add(RECORDS, &key, "n", amount, 3).await;
                let expected = expected.and_then(|_| model[&place_of(&step)].get("n")?.as_u64());
                assert_eq!(number.ok(), expected);
            }
            Operation::Expire(now) => {
                let before = model.len();
                // An expiry with a fraction has no effect.
                let ended = |item: &Item| {
                    let expires_at = item.get("expires_at").and_then(Value::as_i64);
                    now >= 0 && expires_at.is_some_and(|expires_at| expires_at < now)
                };
                model.retain(|_, item| !ended(item));
                assert_eq!(store.expired(now, 100).await.unwrap(), before - model.len());
            }
            Operation::Reopen => {
                drop(store);
                store = folder.open();
            }
        }
    }
    compare(&store, &model).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_as_a_map_in_memory(operations in prop::collection::vec(operation(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(operations));
    }
}
