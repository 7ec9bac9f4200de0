//! Tests the cache of compiled subscriptions: it always has what the records have, and reads again what
//! changed alone.
#![cfg(test)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use conformance::Tables;
use conformance::faults::{Faulty, Rates};
use conformance::model::Model;
use events::envelope::Envelope;
use events::matching::{EventToMatch, SubscriptionSets};
use events::records::subscriptions::{MAX_BYTES, SubscriptionRecord, Subscriptions};
use platform::records::store::{Item, Page, Position, RecordStore, Step, Written};
use platform::records::{Key, Outcome, Query, Table};
use platform::{ErrorKind, Result, Tenant};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

/// Records in memory, with the number of items that were read.
struct Counted {
    model: Model,
    items: AtomicUsize,
}

impl Counted {
    fn add(&self, count: usize) {
        self.items.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number of items that were read since the last call.
    fn read(&self) -> usize {
        self.items.swap(0, Ordering::Relaxed)
    }
}

#[async_trait]
impl RecordStore for Counted {
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        self.add(1);
        self.model.find(table, key).await
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        self.add(keys.len());
        self.model.find_many(table, keys).await
    }

    async fn write(&self, step: Step) -> Result<Written> {
        self.model.write(step).await
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        self.model.transact(steps).await
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        self.model.add(table, key, number, amount, expires_at).await
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        let page = self.model.page(table, query, most, start).await?;
        self.add(page.items.len());
        Ok(page)
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        self.model.count(table, query).await
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        self.model.scan(table, start).await
    }
}

/// Subscriptions of one project, and a matcher's cache of them.
struct World {
    store: Arc<Counted>,
    tenant: Tenant,
    subscriptions: Subscriptions,
    sets: SubscriptionSets,
}

impl World {
    fn new() -> Self {
        let tables = Tables::named();
        let store = Arc::new(Counted {
            model: Model::new(&tables),
            items: AtomicUsize::new(0),
        });
        let subscriptions = Subscriptions::new(Table::new(store.clone(), &tables.records));
        Self {
            store,
            tenant: Tenant::new("acme", "demo").unwrap(),
            sets: SubscriptionSets::new(subscriptions.clone()),
            subscriptions,
        }
    }

    async fn insert(&self, id: &str, fields: &Value) {
        let record = record(id, fields);
        let replaces = fields["overrides_system_subscription_id"].as_str();
        let inserted = self.subscriptions.insert(&self.tenant, &record, replaces).await;
        inserted.unwrap();
    }

    async fn save(&self, id: &str, fields: &Value) {
        let before = self.subscriptions.get(&self.tenant, id).await.unwrap();
        let next = SubscriptionRecord {
            revision: before.revision + 1,
            ..record(id, fields)
        };
        let saved = self.subscriptions.save(&self.tenant, &before, &next).await;
        assert_eq!(saved.unwrap(), Outcome::Done);
    }

    async fn remove(&self, id: &str) {
        let removed = self.subscriptions.remove(&self.tenant, id, |_| Ok(())).await;
        removed.unwrap();
    }

    async fn matches(&self, action: &str) -> BTreeSet<(String, u64)> {
        matches(&self.sets, &self.tenant, action).await
    }
}

fn record(id: &str, fields: &Value) -> SubscriptionRecord {
    let mut document = json!({
        "id": id, "name": "s", "scope": "project", "enabled": true, "priority": "normal", "run_as_role": "reader",
        "filter": {}, "target": { "type": "workflow", "endpoint": "w" }, "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z", "created_by": "u", "updated_by": "u",
    });
    for (name, value) in fields.as_object().unwrap() {
        document[name] = value.clone();
    }
    SubscriptionRecord {
        id: id.to_owned(),
        revision: 1,
        document: document.to_string(),
    }
}

/// Returns the ids and revisions of the subscriptions that match an event with this action.
async fn matches(sets: &SubscriptionSets, tenant: &Tenant, action: &str) -> BTreeSet<(String, u64)> {
    let text = json!({
        "event_id": "e1", "event_category": "content", "action": action, "resource_type": "b", "resource_id": "o1",
        "account_id": "acme", "project_id": "demo", "timestamp": "2026-01-02T03:04:05Z", "source": "shop",
        "details": { "n": 3 },
    });
    let text = text.to_string();
    let envelope = Envelope::parse(&text).unwrap();
    let event = EventToMatch {
        envelope: &envelope,
        text: &text,
        lineage: &[],
        private_to: None,
    };
    let matches = sets.matches(tenant, &event).await.unwrap().matches.into_iter();
    matches
        .map(|matched| (matched.subscription.id.clone(), matched.revision))
        .collect()
}

#[tokio::test]
async fn a_change_reads_one_record() {
    let world = World::new();
    for number in 0..300 {
        world.insert(&format!("s{number:03}"), &json!({})).await;
    }
    world.store.read();
    assert_eq!(world.matches("a").await.len(), 300);
    // The state before, in the lock, and afterwards.
    assert_eq!(world.store.read(), 300 + 3);
    assert_eq!(world.matches("a").await.len(), 300);
    assert_eq!(world.store.read(), 1);

    let other = json!({ "filter": { "action": ["b"] } });
    world.save("s007", &other).await;
    world.store.read();
    assert_eq!(world.matches("a").await.len(), 299);
    // A place in the ring, and the subscription.
    assert_eq!(world.store.read(), 3 + 2);
    assert!(world.matches("b").await.contains(&("s007".to_owned(), 2)));

    // Many changes of one subscription are one.
    for _ in 0..50 {
        world.save("s007", &other).await;
    }
    world.remove("s008").await;
    world.store.read();
    assert_eq!(world.matches("a").await.len(), 298);
    assert_eq!(world.store.read(), 3 + 51 + 2);
}

#[tokio::test]
async fn changes_beyond_the_ring_read_all() {
    let world = World::new();
    for number in 0..10 {
        world.insert(&format!("s{number}"), &json!({})).await;
    }
    world.matches("a").await;
    for _ in 0..1_001 {
        world.save("s3", &json!({})).await;
    }
    world.store.read();
    let expected = ("s3".to_owned(), 1_002);
    assert!(world.matches("a").await.contains(&expected));
    assert_eq!(world.store.read(), 3 + 10);
}

/// Fields of a subscription: filters with shared conditions, disabled ones, and unreadable conditions.
fn fields(draw: &mut StdRng) -> Value {
    let actions = [
        json!([]),
        json!(["a"]),
        json!(["b"]),
        json!(["a", "c"]),
        json!(["*"]),
    ];
    let mut filter = json!({ "action": actions.choose(draw) });
    match draw.random_range(0..6) {
        0 | 1 => filter["condition"] = json!({ "==": [{ "var": "details.n" }, draw.random_range(2..5)] }),
        2 => filter["condition"] = json!({ "no_such_operator": [] }),
        _ => {}
    }
    json!({ "filter": filter, "enabled": draw.random_range(0..4) > 0 })
}

#[tokio::test]
async fn a_cache_has_what_a_new_one_reads() {
    for seed in 0..30 {
        let mut draw = StdRng::seed_from_u64(seed);
        let world = World::new();
        let mut ids: Vec<String> = Vec::new();
        let mut systems: Vec<String> = Vec::new();
        for step in 0..120 {
            let mut fields = fields(&mut draw);
            match draw.random_range(0..10) {
                0..4 => {
                    let id = format!("s{step:03}");
                    match draw.random_range(0..4) {
                        0 => {
                            fields["is_system"] = json!(true);
                            fields["protected"] = json!(draw.random_range(0..2) == 0);
                            systems.push(id.clone());
                        }
                        1 if !systems.is_empty() => {
                            let system = systems.swap_remove(draw.random_range(0..systems.len()));
                            fields["overrides_system_subscription_id"] = json!(system);
                        }
                        _ => {}
                    }
                    world.insert(&id, &fields).await;
                    ids.push(id);
                }
                4..7 if !ids.is_empty() => {
                    let id = ids.choose(&mut draw).unwrap();
                    let old = world.subscriptions.get(&world.tenant, id).await.unwrap();
                    let old: Value = serde_json::from_str(&old.document).unwrap();
                    for name in ["is_system", "protected", "overrides_system_subscription_id"] {
                        if let Some(kept) = old.get(name) {
                            fields[name] = kept.clone();
                        }
                    }
                    world.save(id, &fields).await;
                }
                7 if !ids.is_empty() => {
                    let id = ids.swap_remove(draw.random_range(0..ids.len()));
                    systems.retain(|system| *system != id);
                    world.remove(&id).await;
                }
                _ => {
                    for action in ["a", "b", "d"] {
                        let new = SubscriptionSets::new(world.subscriptions.clone());
                        let expected = matches(&new, &world.tenant, action).await;
                        assert_eq!(world.matches(action).await, expected, "seed {seed}, step {step}");
                    }
                }
            }
        }
    }
}

/// A successor is made before its predecessor is removed, so an event always has one that matches.
#[tokio::test(start_paused = true)]
async fn an_event_meets_the_subscriptions_of_one_moment() {
    for seed in 0..20 {
        let tables = Tables::named();
        let (store, faults) = Faulty::new(Model::new(&tables), &tables, seed);
        let subscriptions = Subscriptions::new(Table::new(Arc::new(store), &tables.records));
        let sets = SubscriptionSets::new(subscriptions.clone());
        let tenant = Tenant::new("acme", "demo").unwrap();
        let first = record("s000", &json!({}));
        subscriptions.insert(&tenant, &first, None).await.unwrap();
        faults.on(Rates {
            contended: 20,
            ..Rates::default()
        });
        let changing = async {
            for number in 1..40 {
                let next = record(&format!("s{number:03}"), &json!({}));
                subscriptions.insert(&tenant, &next, None).await.unwrap();
                let last = format!("s{:03}", number - 1);
                subscriptions.remove(&tenant, &last, |_| Ok(())).await.unwrap();
            }
        };
        let matching = async {
            for _ in 0..60 {
                let matched = matches(&sets, &tenant, "a").await.len();
                assert!((1..=2).contains(&matched), "seed {seed}: {matched}");
            }
        };
        tokio::join!(changing, matching);
    }
}

#[tokio::test]
async fn sets_take_a_bounded_memory() {
    let world = World::new();
    let large = json!({ "description": "x".repeat(299_000) });
    let projects = ["one", "two"].map(|project| Tenant::new("acme", project).unwrap());
    let record = record("s", &large);
    let most = MAX_BYTES as usize / record.document.len();
    for tenant in &projects {
        for number in 0..most {
            let record = SubscriptionRecord {
                id: format!("s{number:03}"),
                ..record.clone()
            };
            world.subscriptions.insert(tenant, &record, None).await.unwrap();
        }
        let more = world
            .subscriptions
            .insert(tenant, &record, None)
            .await
            .unwrap_err();
        assert_eq!(more.kind(), ErrorKind::Conflict);
        assert!(more.message().contains("delete or shorten one first"), "{more}");
        // An event needs the set of its project, which leaves no room for that of the other.
        world.store.read();
        matches(&world.sets, tenant, "a").await;
        assert_eq!(world.store.read(), most + 3);
        matches(&world.sets, tenant, "a").await;
        assert_eq!(world.store.read(), 1);
    }
    matches(&world.sets, &projects[0], "a").await;
    assert_eq!(world.store.read(), most + 3);
}
