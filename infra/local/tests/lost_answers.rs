//! Tests that a commit whose response is lost is reported as done, and is done once.
#![cfg(test)]

use std::sync::{Arc, Mutex};

use aws::{Aws, SdkConfig};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use emulators::Emulators;
use lake::records::stores::Stores;
use lake::schema::TableDefinition;
use lake::sources::Sources;
use lake::store::{Author, DataStores, ImportServices, MAX_INPUT_BYTES, NewStore, StoreConfig};
use local::services::{DATA_BUCKET, RECORDS_TABLE, TABLES};
use platform::config::{AwsEnvironment, Environment};
use platform::deployment::Backend as _;
use platform::outbound::Outbound;
use platform::{Clock, Result, Tenant};
use serde_json::json;
use tempfile::TempDir;

/// How the proxy handles the next transaction.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// Forwards the transaction and its response.
    Pass,
    /// Forwards the transaction and drops its response.
    Swallow,
    /// Answers as if the store were unavailable.
    Refuse,
}

/// Proxy before the record store.
#[derive(Clone)]
struct Proxy {
    backend: String,
    client: reqwest::Client,
    next: Arc<Mutex<Next>>,
    /// How the proxy handles the SDK's retries of a dropped response.
    with_repetitions: Next,
    /// Another writer that commits to the store before the caller learns the outcome.
    rival: Option<(DataStores, String)>,
}

async fn pass(State(proxy): State<Proxy>, headers: HeaderMap, body: Bytes) -> Response {
    let lost = StatusCode::INTERNAL_SERVER_ERROR.into_response();
    let is_transaction = headers["x-amz-target"]
        .to_str()
        .unwrap()
        .ends_with("TransactWriteItems");
    let what = if is_transaction {
        *proxy.next.lock().unwrap()
    } else {
        Next::Pass
    };
    if what == Next::Refuse {
        return lost;
    }
    let request = proxy.client.post(&proxy.backend).headers(headers).body(body);
    let answer = request.send().await.unwrap();
    if what == Next::Swallow {
        *proxy.next.lock().unwrap() = proxy.with_repetitions;
        if let Some((rival, store)) = &proxy.rival {
            create_table(rival, store, "theirs").await.unwrap();
        }
        return lost;
    }
    let (status, headers) = (answer.status(), answer.headers().clone());
    (status, headers, answer.bytes().await.unwrap()).into_response()
}

fn tenant() -> Tenant {
    Tenant::new("acme", "demo").unwrap()
}

fn author() -> Author {
    Author {
        reference: "user:ada".to_owned(),
    }
}

async fn create_table(stores: &DataStores, store: &str, name: &str) -> Result<()> {
    let table: TableDefinition =
        serde_json::from_value(json!({ "name": name, "columns": [{ "name": "id", "type": "INTEGER" }] }))
            .unwrap();
    stores
        .create_tables(&tenant(), &author(), store, &[table], None)
        .await
        .map(drop)
}

struct World {
    folder: TempDir,
    sdk: SdkConfig,
    aws: Aws,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let emulators = Emulators::start(&folder.path().join("aws"), &TABLES).await;
        let sdk = emulators.unwrap().sdk();
        let aws = Aws::new(sdk.clone());
        Self { folder, sdk, aws }
    }

    fn sources(&self, outbound: Outbound) -> Sources {
        let environment = Environment::from_variables([]).unwrap();
        let (secrets, s3) = (self.aws.secrets(), self.aws.remote_objects());
        Sources::from_environment(&environment, secrets.as_ref(), s3, outbound).unwrap()
    }

    fn stores(&self, records: &Aws, cache: &str) -> DataStores {
        let config = StoreConfig {
            program: None,
            directory: self.folder.path().join(cache),
            cache_bytes: 1_024,
            max_copied_bytes: 0,
            compact_at_segments: 32,
            query_memory_bytes: 64 * 1_024 * 1_024,
            max_children: 1,
            import_deadline: std::time::Duration::from_secs(10),
            crash_at: None,
            import_patience: std::time::Duration::from_secs(10),
            max_input_bytes: MAX_INPUT_BYTES,
        };
        let records = Stores::new(records.table(RECORDS_TABLE));
        let objects = self.aws.bucket(DATA_BUCKET);
        let outbound = Outbound::local(&AwsEnvironment::default()).unwrap();
        let imports = ImportServices {
            sources: Some(self.sources(outbound)),
            queue: None,
        };
        DataStores::new(Clock::System, records, objects, imports, &config).unwrap()
    }
}

/// Returns the table names and the number of versions after a change whose response was lost.
async fn after_a_lost_answer(with_repetitions: Next, rival: bool) -> (Vec<String>, u64) {
    let world = World::new().await;
    let beside = world.stores(&world.aws, "beside");
    let new = NewStore {
        name: "orders".to_owned(),
        description: None,
        tags: Vec::new(),
    };
    let store = beside.create(&tenant(), &author(), new).await.unwrap().record.id;

    let proxy = Proxy {
        backend: world.sdk.endpoint_url().unwrap().to_owned(),
        client: reqwest::Client::new(),
        next: Arc::new(Mutex::new(Next::Swallow)),
        with_repetitions,
        rival: rival.then(|| (beside.clone(), store.clone())),
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let routes = Router::new().fallback(pass).with_state(proxy);
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    let behind = world.sdk.to_builder().endpoint_url(&endpoint).build();
    let behind_proxy = world.stores(&Aws::new(behind), "behind");

    create_table(&behind_proxy, &store, "ours").await.unwrap();
    let loaded = beside.load(&tenant(), &store).await.unwrap();
    let names = loaded
        .manifest
        .tables
        .iter()
        .map(|table| table.name.clone())
        .collect();
    (names, loaded.record.version_count)
}

#[tokio::test]
async fn of_a_service_that_is_away_afterwards() {
    assert_eq!(
        after_a_lost_answer(Next::Refuse, false).await,
        (vec!["ours".to_owned()], 2)
    );
}

#[tokio::test]
async fn that_the_sdk_repeats() {
    assert_eq!(
        after_a_lost_answer(Next::Pass, false).await,
        (vec!["ours".to_owned()], 2)
    );
}

#[tokio::test]
async fn with_another_writers_commit_on_top() {
    let both = (vec!["ours".to_owned(), "theirs".to_owned()], 3);
    assert_eq!(after_a_lost_answer(Next::Refuse, true).await, both);
    assert_eq!(after_a_lost_answer(Next::Pass, true).await, both);
}
