//! Models the write units that deliveries and runs take in each partition of DynamoDB; this bounds the
//! deliveries of a project.
//!
//! A partition takes 1,000 write units a second. The model follows DynamoDB's rules: a table write costs a
//! unit per started kilobyte, twice that in a transaction. In an index, adding, removing or changing an entry
//! costs one write, moving it costs two, and a write that changes no attribute of the index costs nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use event_log::logs::Logs;
use events::records::listing_shards::ListingShards;
use local::layers::Layers;
use local::services::{AUDIT_TABLE, EVENTS_TABLE, RUNS_TABLE, TABLES};
use platform::Result;
use platform::records::logs::{LogId, LogKind};
use platform::records::schema::{Carried, SUMMARY, carried, indexes};
use platform::records::store::limits::bytes_of;
use platform::records::store::{Item, Page, Position, Query, RecordStore, Step, key_names};
use platform::records::{Key, Written};
use platform::stored_json;
use serde_json::Value;

use crate::world::World;

/// Write units that one partition takes per second.
const UNITS_OF_PARTITION: f64 = 1_000.0;
const DELIVERIES: u32 = 200;

/// Units by table or index, and partition key.
type Units = BTreeMap<(String, String), u64>;

/// Counts the units of the writes that pass through it.
#[derive(Clone, Default)]
struct Meter(Arc<Mutex<Units>>);

impl Layers for Meter {
    fn records(&self, store: Arc<dyn RecordStore>) -> Arc<dyn RecordStore> {
        Arc::new(Metered {
            store,
            meter: self.clone(),
        })
    }
}

impl Meter {
    fn take(&self) -> Units {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn count(&self, step: &Step, (before, after): (Option<&Item>, Option<&Item>), of_item: u64) {
        let (_, kind) = TABLES.iter().find(|(name, _)| *name == &*step.table).unwrap();
        let mut units = self.0.lock().unwrap();
        let mut add = |place: &str, pk: &str, amount: u64| {
            if amount > 0 {
                *units.entry((place.to_owned(), pk.to_owned())).or_default() += amount;
            }
        };
        let larger = before.map_or(1, kilobytes).max(after.map_or(1, kilobytes));
        add(&step.table, &step.key.pk, larger * of_item);
        for index in indexes(*kind) {
            let carried = carried(*kind, index);
            let [was, is] = [before, after].map(|item| item.and_then(|item| entry(item, index, carried)));
            let place = format!("{}.{index}", step.table);
            match (was, is) {
                (Some((was, _)), None) => add(&place, &was.0, 1),
                (None, Some((is, item))) => add(&place, &is.0, kilobytes(&item)),
                (Some((was, _)), Some((is, item))) if was != is => {
                    add(&place, &was.0, 1);
                    add(&place, &is.0, kilobytes(&item));
                }
                (Some((_, old)), Some((is, new))) if old != new => add(&place, &is.0, kilobytes(&new)),
                _ => {}
            }
        }
    }
}

/// Returns the started kilobytes of an item in DynamoDB, which has the bytes of compressed texts.
fn kilobytes(item: &Item) -> u64 {
    let texts = item.attributes().values().filter_map(Value::as_str);
    let longer = texts.filter_map(|text| Some(text.len() - stored_json::bytes_of(text)?.len()));
    let bytes = bytes_of(item) - longer.sum::<usize>();
    u64::try_from(bytes.div_ceil(1_024)).unwrap()
}

/// Returns the key of an item in an index, and the attributes that the index holds.
fn entry(item: &Item, index: &str, carried: Carried) -> Option<((String, String), Item)> {
    let [pk, sk] = key_names(index);
    let place = (item.text(&pk)?.to_owned(), item.text(&sk)?.to_owned());
    let mut attributes = item.clone();
    attributes.retain(|name| match carried {
        Carried::All => true,
        Carried::Summary | Carried::Keys => {
            ["pk", "sk", &*pk, &*sk].contains(&name) || (carried == Carried::Summary && name == SUMMARY)
        }
    });
    Some((place, attributes))
}

struct Metered {
    store: Arc<dyn RecordStore>,
    meter: Meter,
}

impl Metered {
    async fn items(&self, steps: &[Step]) -> Result<Vec<Option<Item>>> {
        let mut items = Vec::new();
        for step in steps {
            items.push(self.store.find(&step.table, &step.key).await?);
        }
        Ok(items)
    }

    async fn metered(
        &self,
        steps: &[Step],
        of_item: u64,
        write: impl Future<Output = Result<Written>>,
    ) -> Result<Written> {
        let before = self.items(steps).await?;
        let outcome = write.await?;
        if outcome == Written::Done {
            let after = self.items(steps).await?;
            for (step, (before, after)) in steps.iter().zip(before.iter().zip(&after)) {
                self.meter.count(step, (before.as_ref(), after.as_ref()), of_item);
            }
        }
        Ok(outcome)
    }
}

#[async_trait]
impl RecordStore for Metered {
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        self.store.find(table, key).await
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        self.store.find_many(table, keys).await
    }

    async fn write(&self, step: Step) -> Result<Written> {
        let steps = [step.clone()];
        self.metered(&steps, 1, self.store.write(step)).await
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        let metered = steps.clone();
        self.metered(&metered, 2, self.store.transact(steps)).await
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        self.store.add(table, key, number, amount, expires_at).await
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        self.store.page(table, query, most, start).await
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        self.store.count(table, query).await
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        self.store.scan(table, start).await
    }
}

/// Returns the units of each partition for one delivered webhook with its event archived, highest first.
async fn of_webhook(shards: u16) -> Vec<(String, f64)> {
    let meter = Meter::default();
    let world = World::behind(Arc::new(meter.clone())).await;
    for table in [RUNS_TABLE, EVENTS_TABLE] {
        let listing = ListingShards::new(world.services.table(table));
        listing
            .change(&world.tenant, shards, world.clock.now())
            .await
            .unwrap();
    }
    world.pass(300);
    world.webhook().await;
    world.event(None).await;
    world.settle().await;
    meter.take();
    for _ in 0..DELIVERIES {
        world.event(None).await;
        world.settle().await;
    }
    let table = |name| world.services.table(name);
    let logs = Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE));
    let log = LogId::new("acme", Some("demo"), LogKind::Events);
    let tail = logs.tail::<Value>(&log, None).await.unwrap();
    let keys: Vec<_> = tail.into_iter().map(|record| record.key).collect();
    assert_eq!(keys.len(), 1 + DELIVERIES as usize);
    logs.settle(&log, &keys[1..], 4_000_000_000).await.unwrap();
    let units = meter.take().into_iter();
    let per_delivery = units.map(|((place, pk), units)| {
        let per_delivery = units as f64 / f64::from(DELIVERIES);
        (format!("{place} {pk}"), per_delivery)
    });
    let mut per_delivery: Vec<_> = per_delivery.collect();
    per_delivery.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    per_delivery
}

fn without_id(place: &str) -> &str {
    let ends = ["subscription#", "rule#"].into_iter();
    let mut ends = ends.filter_map(|kind| Some(place.find(kind)? + kind.len()));
    ends.next().map_or(place, |end| &place[..end])
}

/// The hottest partitions are those that every delivery of a project writes to. docs/deploy.md says the same.
#[tokio::test]
async fn a_project_of_one_shard_takes_five_hundred_deliveries_a_second() {
    let units = of_webhook(1).await;
    let shared = units.iter().filter(|(_, units)| *units >= 0.8);
    let shared: BTreeMap<_, _> = shared.map(|(place, units)| (without_id(place), *units)).collect();
    let expected = [
        ("millrace-events.gsi1 acme#demo#deliveries", 1.0),
        ("millrace-events.gsi1 acme#demo#events-tail", 2.0),
        ("millrace-events.gsi3 acme#demo#deliveries#subscription#", 1.0),
        ("millrace-runs.gsi2 acme#demo#runs#status#RUNNING", 2.0),
        ("millrace-runs.gsi3 acme#demo#runs#type#WebhookDelivery", 1.0),
        ("millrace-runs.gsi5 acme#demo#runs#rule#", 1.0),
    ];
    assert_eq!(shared, BTreeMap::from(expected), "{units:#?}");
    let (_, most) = units.first().unwrap();
    assert_eq!(UNITS_OF_PARTITION / most, 500.0);
}

/// What `run_costs` counts in an emulator, and the two units of the archiver.
#[tokio::test]
async fn a_delivered_webhook_takes_twenty_write_units() {
    let units = of_webhook(1).await;
    let sum: f64 = units.iter().map(|(_, units)| units).sum();
    assert!((sum - 22.0).abs() < 0.1, "{sum}: {units:#?}");
}

#[tokio::test]
async fn each_further_shard_takes_its_part() {
    let units = of_webhook(8).await;
    let tails = units.iter().filter(|(place, _)| place.contains("events-tail"));
    assert_eq!(tails.clone().count(), 8, "{units:#?}");
    let sum: f64 = tails.map(|(_, units)| units).sum();
    assert!((sum - 2.0).abs() < 1e-9, "{sum}");
    // It would be 4,000 per second if these few deliveries were spread evenly. Half of that is five standard
    // deviations away.
    let (hottest, most) = units.first().unwrap();
    assert!(UNITS_OF_PARTITION / most > 2_000.0, "{hottest}: {most}");
}
