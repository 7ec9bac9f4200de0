//! Tests background imports without a service: messages that are repeated, late or lost, importers that fail,
//! and the existing rows that an import reads.
#![cfg(test)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use aws::Aws;
use bytes::Bytes;
use lake::FileFormat;
use lake::records::stores::{ImportMode, ImportRecord, ImportStatus, Stores};
use lake::schema::TableDefinition;
use lake::sources::Sources;
use lake::store::{
    Author, DataStores, Hint, Import, ImportHint, ImportServices, ImportSource, ImportTable, MAX_INPUT_BYTES,
    NewStore, StoreConfig,
};
use local::data_dir::DataDir;
use local::services::{DATA_BUCKET, RECORDS_TABLE, Services};
use platform::batch::{Batch, Message};
use platform::config::{AwsEnvironment, Environment, Secret};
use platform::deployment::Backend as _;
use platform::objects::{Objects, artifact_key};
use platform::outbound::Outbound;
use platform::queue::{Delivery, Queue};
use platform::{Clock, Result, Tenant, UtcTime};
use serde_json::{Value, json};
use tempfile::TempDir;

const MINUTE_MS: i64 = 60_000;

/// Queue that only the test reads.
#[derive(Default)]
struct Messages(Mutex<Vec<String>>);

impl Messages {
    fn take(&self) -> Vec<ImportHint> {
        let hints = std::mem::take(&mut *self.0.lock().unwrap());
        hints
            .iter()
            .map(|body| serde_json::from_str(body).unwrap())
            .collect()
    }
}

#[async_trait]
impl Queue for Messages {
    async fn send_as(&self, body: &str, _: Delivery<'_>) -> Result<()> {
        self.0.lock().unwrap().push(body.to_owned());
        Ok(())
    }
}

fn tenant() -> Tenant {
    Tenant::new("acme", "demo").unwrap()
}

fn author() -> Author {
    Author {
        reference: "user:ada".to_owned(),
    }
}

fn artifact_import() -> Import {
    Import {
        tables: vec![ImportTable {
            table: "t".to_owned(),
            source: ImportSource::Artifact {
                path: "rows.csv".to_owned(),
                format: FileFormat::Csv,
            },
        }],
        mode: ImportMode::Append,
        rounding: None,
        message: None,
        background: true,
    }
}

struct World {
    folder: TempDir,
    services: Services,
    clock: Clock,
    queue: Arc<Messages>,
    /// Data stores that serve requests.
    stores: DataStores,
    store: String,
}

impl World {
    /// Starts with a table `t` with the key `id`, and an artifact of three rows.
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(&folder.path().join("data")).unwrap();
        let services = Services::open(&data).unwrap();
        let clock = Clock::manual(UtcTime::from_millis(1_750_000_000_000).unwrap());
        let queue = Arc::new(Messages::default());
        let patience = Duration::from_secs(600);
        let stores = stores(
            &folder,
            &services,
            &clock,
            services.bucket(DATA_BUCKET),
            Some(&queue),
            patience,
            "api",
        );
        let new = NewStore {
            name: "orders".to_owned(),
            description: None,
            tags: Vec::new(),
        };
        let store = stores.create(&tenant(), &author(), new).await.unwrap().record.id;
        let columns = json!([{ "name": "id", "type": "BIGINT", "primary_key": true }, { "name": "u", "type": "STRING" }]);
        let table: TableDefinition =
            serde_json::from_value(json!({ "name": "t", "columns": columns })).unwrap();
        stores
            .create_tables(&tenant(), &author(), &store, &[table], None)
            .await
            .unwrap();
        let objects = services.bucket(DATA_BUCKET);
        let key = artifact_key(&tenant(), "rows.csv").unwrap();
        objects
            .put(&key, b"id,u\n1,a\n2,b\n3,c\n".to_vec())
            .await
            .unwrap();
        Self {
            folder,
            services,
            clock,
            queue,
            stores,
            store,
        }
    }

    /// Returns an importer with its own caches.
    fn importer(&self, cache: &str) -> DataStores {
        self.importer_over(self.services.bucket(DATA_BUCKET), cache)
    }

    fn importer_over(&self, objects: Objects, cache: &str) -> DataStores {
        let patience = Duration::from_secs(600);
        stores(
            &self.folder,
            &self.services,
            &self.clock,
            objects,
            None,
            patience,
            cache,
        )
    }

    /// Returns an importer whose object store is unavailable.
    fn broken_importer(&self) -> DataStores {
        let nowhere = aws::sdk_config_for("http://127.0.0.1:9", aws::Keys::signing(&Secret::new("key")));
        self.importer_over(Aws::new(nowhere).bucket(DATA_BUCKET), "broken")
    }

    async fn start_import(&self) -> (ImportRecord, ImportHint) {
        let record = self
            .stores
            .import(&tenant(), &author(), &self.store, artifact_import())
            .await
            .unwrap();
        let [hint] = self.queue.take().try_into().unwrap();
        (record, hint)
    }

    async fn record(&self, id: &str) -> ImportRecord {
        let records = self.stores.records();
        records.import(&tenant(), &self.store, id).await.unwrap()
    }

    async fn append(&self, stores: &DataStores, rows: &Value) -> Result<ImportRecord> {
        let import = Import {
            tables: vec![ImportTable {
                table: "t".to_owned(),
                source: ImportSource::Inline(Bytes::from(rows.to_string())),
            }],
            background: false,
            ..artifact_import()
        };
        stores.import(&tenant(), &author(), &self.store, import).await
    }

    async fn total_rows(&self) -> u64 {
        let head = self.stores.records().get(&tenant(), &self.store).await.unwrap();
        head.total_rows
    }
}

fn stores(
    folder: &TempDir,
    services: &Services,
    clock: &Clock,
    objects: Objects,
    queue: Option<&Arc<Messages>>,
    import_patience: Duration,
    cache: &str,
) -> DataStores {
    let config = StoreConfig {
        program: Some(tests::binary("millrace")),
        directory: folder.path().join(cache),
        cache_bytes: 1_024 * 1_024,
        max_copied_bytes: 0,
        compact_at_segments: 32,
        query_memory_bytes: 64 * 1_024 * 1_024,
        max_children: 1,
        import_deadline: Duration::from_secs(60),
        import_patience,
        max_input_bytes: MAX_INPUT_BYTES,
        crash_at: None,
    };
    let environment = Environment::from_variables([]).unwrap();
    let outbound = Outbound::local(&AwsEnvironment::default()).unwrap();
    let aws = Aws::from_environment();
    let (secrets, s3) = (aws.secrets(), aws.remote_objects());
    let imports = ImportServices {
        sources: Some(Sources::from_environment(&environment, secrets.as_ref(), s3, outbound).unwrap()),
        queue: queue.cloned().map(|queue| -> Arc<dyn Queue> { queue }),
    };
    let records = Stores::new(services.table(RECORDS_TABLE));
    DataStores::new(clock.clone(), records, objects, imports, &config).unwrap()
}

#[tokio::test]
async fn a_message_that_comes_twice_or_at_two_importers_at_once_is_one_import() {
    let world = World::start().await;
    let (record, hint) = world.start_import().await;
    assert_eq!(record.status, ImportStatus::Pending);
    let (one, two) = (world.importer("one"), world.importer("two"));
    let (left, right) = tokio::join!(one.run_import(&hint), two.run_import(&hint));
    left.unwrap();
    right.unwrap();
    one.run_import(&hint).await.unwrap();
    let record = world.record(&record.id).await;
    assert_eq!(record.status, ImportStatus::Completed);
    assert_eq!(world.total_rows().await, 3);
}

#[tokio::test]
async fn an_importer_that_outlives_its_hold_does_not_import_twice() {
    let world = World::start().await;
    // Without a key, only the job prevents a second import of the rows.
    let columns = json!({ "name": "free", "columns": [{ "name": "id", "type": "BIGINT" }, { "name": "u", "type": "STRING" }] });
    let table: TableDefinition = serde_json::from_value(columns).unwrap();
    world
        .stores
        .create_tables(&tenant(), &author(), &world.store, &[table], None)
        .await
        .unwrap();
    let mut import = artifact_import();
    import.tables[0].table = "free".to_owned();
    let record = world
        .stores
        .import(&tenant(), &author(), &world.store, import)
        .await
        .unwrap();
    let [hint] = world.queue.take().try_into().unwrap();
    let (slow, fast) = (world.importer("slow"), world.importer("fast"));
    // The second importer starts just after the first, as if the first one's lease had expired.
    let first = slow.run_import(&hint);
    let second = async {
        while world.record(&record.id).await.status == ImportStatus::Pending {
            tokio::task::yield_now().await;
        }
        world.clock.advance_ms(17 * MINUTE_MS);
        let records = world.stores.records();
        let job = records.find_import_job(&tenant(), &world.store, &record.id).await;
        assert!(
            job.unwrap().is_some(),
            "the first one is too fast to test anything"
        );
        fast.run_import(&hint).await
    };
    let (first, second) = tokio::join!(first, second);
    first.unwrap();
    second.unwrap();
    assert_eq!(world.record(&record.id).await.status, ImportStatus::Completed);
    assert_eq!(world.total_rows().await, 3);
}

#[tokio::test]
async fn an_import_whose_message_is_lost_is_found_when_it_is_due() {
    let world = World::start().await;
    let (record, _lost) = world.start_import().await;
    let importer = world.importer("one");
    importer_function::sweep(&importer, world.queue.as_ref())
        .await
        .unwrap();
    assert_eq!(world.queue.take(), [], "its message may still come");
    world.clock.advance_ms(6 * MINUTE_MS);
    importer_function::sweep(&importer, world.queue.as_ref())
        .await
        .unwrap();
    let [hint] = world.queue.take().try_into().unwrap();
    importer.run_import(&hint).await.unwrap();
    assert_eq!(world.record(&record.id).await.status, ImportStatus::Completed);
    world.clock.advance_ms(60 * MINUTE_MS);
    importer_function::sweep(&importer, world.queue.as_ref())
        .await
        .unwrap();
    assert_eq!(world.queue.take(), [], "what is over is not due");
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again_and_given_up_at_last() {
    let world = World::start().await;
    let (record, hint) = world.start_import().await;
    let (broken, good) = (world.broken_importer(), world.importer("good"));
    assert_eq!(broken.run_import(&hint).await.unwrap_err().status(), 503);
    assert_eq!(world.record(&record.id).await.status, ImportStatus::Running);
    // A retry within the lease does nothing.
    good.run_import(&hint).await.unwrap();
    assert_eq!(world.record(&record.id).await.status, ImportStatus::Running);
    world.clock.advance_ms(MINUTE_MS);
    assert_eq!(good.requeue_due_imports(world.queue.as_ref()).await.unwrap(), 1);
    let [again] = world.queue.take().try_into().unwrap();
    assert_eq!(again, hint);
    good.run_import(&again).await.unwrap();
    assert_eq!(world.record(&record.id).await.status, ImportStatus::Completed);

    let (record, hint) = world.start_import().await;
    for attempt in 1..=5 {
        let ended = broken.run_import(&hint).await;
        assert_eq!(ended.is_ok(), attempt == 5, "{attempt}");
        world.clock.advance_ms(MINUTE_MS);
    }
    let record = world.record(&record.id).await;
    assert_eq!(record.status, ImportStatus::Failed);
    assert_eq!(
        record.error.unwrap(),
        "The service failed on this import; repeat it."
    );
    good.run_import(&hint).await.unwrap();
    assert_eq!(world.total_rows().await, 3);
}

#[tokio::test]
async fn messages_that_cannot_be_carried_out_are_named_and_do_not_hold_up_the_others() {
    let world = World::start().await;
    let (record, hint) = world.start_import().await;
    let gone = ImportHint {
        import_id: "gone".to_owned(),
        ..hint.clone()
    };
    let bodies = [
        "not a hint".to_owned(),
        serde_json::to_string(&Hint::Import(gone)).unwrap(),
        serde_json::to_string(&Hint::Import(hint)).unwrap(),
    ];
    let messages = bodies.into_iter().zip(["a", "b", "c"]);
    let messages = messages.map(|(body, id)| Message {
        id: id.to_owned(),
        body,
    });
    let failed = importer_function::handle(&world.importer("one"), Batch::new(messages.collect())).await;
    assert_eq!(failed, ["a"]);
    assert_eq!(world.record(&record.id).await.status, ImportStatus::Completed);
}

#[tokio::test]
async fn an_import_too_slow_for_its_request_continues_in_the_background() {
    let world = World::start().await;
    let (services, queue) = (&world.services, Some(&world.queue));
    let impatient = stores(
        &world.folder,
        services,
        &world.clock,
        services.bucket(DATA_BUCKET),
        queue,
        Duration::ZERO,
        "hasty",
    );
    let import = Import {
        background: false,
        ..artifact_import()
    };
    let record = impatient.import(&tenant(), &author(), &world.store, import).await;
    let record = record.unwrap();
    assert_eq!(record.status, ImportStatus::Running);
    let [hint] = world.queue.take().try_into().unwrap();
    world.importer("one").run_import(&hint).await.unwrap();
    assert_eq!(world.record(&record.id).await.status, ImportStatus::Completed);
    assert_eq!(world.total_rows().await, 3);
    // An import of rows in the request always waits for its result.
    let rows = json!([{ "id": 9 }]);
    let record = world.append(&impatient, &rows).await.unwrap();
    assert_eq!(record.status, ImportStatus::Completed);
    assert_eq!(world.queue.take(), []);
}

#[tokio::test]
async fn only_segments_that_may_hold_a_key_are_fetched() {
    let world = World::start().await;
    for from in [0, 100, 200, 300] {
        let rows: Vec<_> = (from..from + 10)
            .map(|id| json!({ "id": id, "u": "x" }))
            .collect();
        world.append(&world.stores, &json!(rows)).await.unwrap();
    }
    let fetched = |cache: &str| -> Vec<PathBuf> {
        let folder = world.folder.path().join(cache).join("segments");
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "parquet"))
            .collect()
    };
    for (cache, id, count) in [
        ("above", 1_000, 0),
        ("between", 150, 0),
        ("within", 250, 0),
        ("in", 205, 1),
    ] {
        let stores = world.importer(cache);
        let appended = world.append(&stores, &json!([{ "id": id }])).await;
        assert_eq!(appended.is_err(), count == 1, "{id}");
        assert_eq!(fetched(cache).len(), count, "{id}");
    }
    let wide = world.importer("wide");
    let rows = json!([{ "id": 50 }, { "id": 260 }]);
    world.append(&wide, &rows).await.unwrap();
    // The segments from 100 and from 200, and those of the rows 150 and 250.
    assert_eq!(fetched("wide").len(), 4);
}
