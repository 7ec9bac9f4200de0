//! Tests the record store with faults: the effect of each fault, and that a seed repeats them.
#![cfg(test)]

use std::collections::BTreeSet;

use conformance::Tables;
use conformance::faults::{Counts, Faults, Faulty, LONGEST_LAG, Rates, SLOWEST, TIMEOUT};
use conformance::model::Model;
use platform::ErrorKind;
use platform::records::store::{Action, Item, RecordStore as _, Step};
use platform::records::{Changes, Condition, Key, Query, Written};
use serde_json::json;
use tokio::time::Instant;

struct World {
    tables: Tables,
    /// The actual state.
    truth: Model,
    store: Faulty,
    faults: Faults,
}

impl World {
    fn new(seed: u64) -> Self {
        let tables = Tables::named();
        let truth = Model::new(&tables);
        let (store, faults) = Faulty::new(truth.clone(), &tables, seed);
        Self {
            tables,
            truth,
            store,
            faults,
        }
    }

    fn put(&self, key: &Key, number: u64, condition: Option<Condition>) -> Step {
        let item = Item::from_record(key, &json!({ "number": number })).unwrap();
        self.step(key, Action::Put(item), condition)
    }

    fn step(&self, key: &Key, action: Action, condition: Option<Condition>) -> Step {
        Step {
            table: self.tables.records.clone(),
            key: key.clone(),
            action,
            condition,
        }
    }

    async fn truth(&self, key: &Key) -> Option<u64> {
        let item = self.truth.find(&self.tables.records, key).await.unwrap();
        item.and_then(|item| item.get("number")?.as_u64())
    }

    /// Returns the sort keys in `gsi1` that the store shows.
    async fn in_index(&self, query: &Query) -> Vec<String> {
        let mut found = Vec::new();
        let mut start = None;
        loop {
            let page = self
                .store
                .page(&self.tables.records, query, 2, start)
                .await
                .unwrap();
            found.extend(
                page.items
                    .iter()
                    .map(|item| item.text("listed_at").unwrap().to_owned()),
            );
            start = page.next;
            if start.is_none() {
                return found;
            }
        }
    }
}

fn key(number: u64) -> Key {
    Key::new("p", format!("{number:03}"))
}

#[tokio::test]
async fn a_lost_answer_has_written() {
    let world = World::new(1);
    world.faults.on(Rates {
        lost: 100,
        ..Rates::default()
    });
    let table = &world.tables.records;
    let lost = world.store.write(world.put(&key(1), 1, None)).await;
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::Unavailable);
    let steps = vec![world.put(&key(1), 2, None), world.put(&key(2), 2, None)];
    let lost = world.store.transact(steps).await;
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::Unavailable);
    let lost = world.store.add(table, &key(3), "number", 3, 32_503_680_000).await;
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::Unavailable);
    for (number, expected) in [(1, 2), (2, 2), (3, 3)] {
        assert_eq!(world.truth(&key(number)).await, Some(expected));
    }
    // Reads lose nothing, but a refusal may be lost.
    assert!(world.store.find(table, &key(1)).await.unwrap().is_some());
    let lost = world
        .store
        .write(world.put(&key(1), 9, Some(Condition::Absent)))
        .await;
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(world.truth(&key(1)).await, Some(2));
    let expected = Counts {
        lost: 4,
        ..Counts::default()
    };
    assert_eq!(world.faults.counts(), expected);
    // A request that is wrong in itself keeps its own kind of error.
    let failed = world.store.transact(Vec::new()).await;
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Internal);
}

#[tokio::test]
async fn a_throttled_or_contended_call_has_not_written() {
    let world = World::new(1);
    let table = &world.tables.records;
    world.faults.on(Rates {
        throttled: 100,
        ..Rates::default()
    });
    let query = Query::partition("p");
    let kinds = [
        world
            .store
            .write(world.put(&key(1), 1, None))
            .await
            .unwrap_err()
            .kind(),
        world
            .store
            .transact(vec![world.put(&key(1), 1, None)])
            .await
            .unwrap_err()
            .kind(),
        world
            .store
            .add(table, &key(1), "number", 1, 1)
            .await
            .unwrap_err()
            .kind(),
        world.store.find(table, &key(1)).await.unwrap_err().kind(),
        world.store.find_many(table, &[key(1)]).await.unwrap_err().kind(),
        world.store.page(table, &query, 1, None).await.unwrap_err().kind(),
        world.store.count(table, &query).await.unwrap_err().kind(),
        world.store.scan(table, None).await.unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Unavailable; 8]);
    world.faults.on(Rates {
        contended: 100,
        ..Rates::default()
    });
    let contended = [
        world.store.write(world.put(&key(1), 1, None)).await.unwrap(),
        world
            .store
            .transact(vec![world.put(&key(1), 1, None)])
            .await
            .unwrap(),
    ];
    assert_eq!(contended, [Written::Contended; 2]);
    assert_eq!(world.truth(&key(1)).await, None);
    let expected = Counts {
        throttled: 8,
        contended: 2,
        ..Counts::default()
    };
    assert_eq!(world.faults.counts(), expected);

    world.faults.off();
    assert_eq!(
        world.store.write(world.put(&key(1), 1, None)).await.unwrap(),
        Written::Done
    );
    assert_eq!(world.faults.counts(), expected);
}

#[tokio::test]
async fn a_write_that_times_out_has_happened_or_has_not() {
    let world = World::new(1);
    world.faults.on(Rates {
        timed_out: 100,
        ..Rates::default()
    });
    let begun = Instant::now();
    let writes = (0..40).map(|number| world.store.write(world.put(&key(number), number, None)));
    for failed in futures::future::join_all(writes).await {
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert!(begun.elapsed() >= TIMEOUT);
    let mut happened = 0;
    for number in 0..40 {
        happened += u64::from(world.truth(&key(number)).await.is_some());
    }
    let counts = world.faults.counts();
    assert!((10..30).contains(&happened), "{happened}");
    assert_eq!(
        (counts.timed_out_written, counts.timed_out),
        (happened, 40 - happened)
    );
    let failed = world.store.find(&world.tables.records, &key(1)).await;
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(world.faults.counts().timed_out_written, happened);
}

#[tokio::test]
async fn a_slow_call_is_answered_as_any_other() {
    let world = World::new(1);
    world.faults.on(Rates {
        slow: 100,
        ..Rates::default()
    });
    let begun = Instant::now();
    let written = world.store.write(world.put(&key(1), 1, None)).await;
    assert_eq!(written.unwrap(), Written::Done);
    assert!(begun.elapsed() >= SLOWEST / 50);
    assert_eq!(world.faults.counts().slow, 1);
}

#[tokio::test]
async fn a_repeated_write_is_refused_by_itself() {
    let world = World::new(1);
    world.faults.on(Rates {
        repeated: 100,
        ..Rates::default()
    });
    let new = world.put(&key(1), 1, Some(Condition::Absent));
    assert_eq!(
        world.store.write(new).await.unwrap(),
        Written::Refused { step: 0 }
    );
    assert_eq!(world.truth(&key(1)).await, Some(1));
    let again = world.put(&key(1), 2, None);
    assert_eq!(world.store.write(again).await.unwrap(), Written::Done);
    let table = &world.tables.records;
    let sum = world.store.add(table, &key(1), "number", 3, 32_503_680_000).await;
    assert_eq!(sum.unwrap(), 8);
    // Neither is ever executed twice.
    let removal = world.step(&key(1), Action::Delete, Some(Condition::Present));
    assert_eq!(world.store.write(removal).await.unwrap(), Written::Done);
    let new = vec![world.put(&key(1), 1, Some(Condition::Absent))];
    assert_eq!(world.store.transact(new).await.unwrap(), Written::Done);
    assert_eq!(world.faults.counts().repeated, 3);
}

/// Executes writes with faults by the seed; returns the counts of faults, and the writes that succeeded.
async fn hundred_writes(seed: u64) -> (Counts, BTreeSet<u64>) {
    let world = World::new(seed);
    world.faults.on(Rates {
        throttled: 10,
        contended: 10,
        lost: 10,
        ..Rates::default()
    });
    let mut done = BTreeSet::new();
    let mut happened = 0;
    for number in 0..100 {
        if let Ok(Written::Done) = world.store.write(world.put(&key(number), number, None)).await {
            done.insert(number);
        }
        happened += u64::from(world.truth(&key(number)).await.is_some());
    }
    let counts = world.faults.counts();
    assert_eq!(happened, 100 - counts.throttled - counts.contended);
    assert_eq!(done.len() as u64, happened - counts.lost);
    (counts, done)
}

#[tokio::test]
async fn a_seed_repeats_its_faults() {
    let (counts, done) = hundred_writes(1).await;
    assert!(
        counts.throttled > 0 && counts.contended > 0 && counts.lost > 0,
        "{counts:?}"
    );
    assert_eq!(hundred_writes(1).await, (counts, done.clone()));
    assert_ne!(hundred_writes(2).await.1, done);
}

#[tokio::test]
async fn an_index_shows_what_was_until_it_settles() {
    let world = World::new(1);
    let query = Query::partition("i").gsi1();
    let placed = |number: u64, sk: &str| key(number).with_gsi1("i", sk);
    for number in 1..=3 {
        let put = world.put(&placed(number, &number.to_string()), number, None);
        assert_eq!(world.store.write(put).await.unwrap(), Written::Done);
    }
    assert_eq!(world.in_index(&query).await, ["1", "2", "3"]);

    world.faults.on(Rates {
        late: 100,
        ..Rates::default()
    });
    let moved = Action::Update(Changes::default().place("gsi1", "i".to_owned(), "9".to_owned()));
    let steps = vec![
        world.step(&key(1), moved.clone(), None),
        world.step(&key(2), Action::Delete, None),
        world.put(&placed(4, "4"), 4, None),
        world.step(&key(3), Action::Check, Some(Condition::Present)),
    ];
    assert_eq!(world.store.transact(steps).await.unwrap(), Written::Done);
    // Written twice, and still visible in its state before the first write.
    let again = world.step(&key(1), Action::Update(Changes::default().add("number", 1)), None);
    assert_eq!(world.store.write(again).await.unwrap(), Written::Done);
    // A refused write hides nothing.
    let refused = world
        .store
        .write(world.put(&placed(3, "0"), 3, Some(Condition::Absent)))
        .await;
    assert_eq!(refused.unwrap(), Written::Refused { step: 0 });
    let page = world
        .store
        .page(&world.tables.records, &query, 10, None)
        .await
        .unwrap();
    let shown: Vec<_> = page
        .items
        .iter()
        .map(|item| item.text("listed_at").unwrap())
        .collect();
    assert_eq!(shown, ["1", "2", "3"]);
    let counts = world.faults.counts();
    assert_eq!((counts.late, counts.stale_reads), (4, 1));
    // The table itself never lags.
    assert_eq!(
        world.store.find(&world.tables.records, &key(2)).await.unwrap(),
        None
    );
    assert_eq!(
        world
            .store
            .count(&world.tables.records, &Query::partition("p"))
            .await
            .unwrap(),
        3
    );

    world.faults.settle();
    assert_eq!(world.in_index(&query).await, ["3", "4", "9"]);
    assert_eq!(world.store.count(&world.tables.records, &query).await.unwrap(), 3);
}

#[tokio::test]
async fn an_index_catches_up_by_itself() {
    let world = World::new(1);
    let query = Query::partition("i").gsi1();
    world.faults.on(Rates {
        late: 100,
        ..Rates::default()
    });
    for number in 0..20 {
        let put = world.put(&key(number).with_gsi1("i", number.to_string()), number, None);
        assert_eq!(world.store.write(put).await.unwrap(), Written::Done);
    }
    let mut seen = Vec::new();
    for _ in 0..=LONGEST_LAG {
        seen.push(world.store.count(&world.tables.records, &query).await.unwrap());
    }
    assert_eq!((seen[0], seen.last()), (0, Some(&20)));
    assert!(
        seen.is_sorted() && seen.iter().any(|seen| (1..20).contains(seen)),
        "{seen:?}"
    );
}
