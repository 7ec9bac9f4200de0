//! Provides logs, an archiver, and a clock that tests move.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use event_log::archive::{Archiver, ArchiverConfig, Crash, Passed};
use event_log::digest::PublicKeys;
use event_log::erasure::Eraser;
use event_log::logs::{LogFile, Logs};
use event_log::verify::{ExpectedDigest, LogCopy, Report, verify};
use event_log::{LogStore, LogStoreConfig};
use events::records::events::{EventRecord, Events};
use events::retention::Retention;
use lake::{Engine, EngineConfig, sql_path};
use local::data_dir::DataDir;
use local::services::{AUDIT_TABLE, DATA_BUCKET, EVENTS_TABLE, Services};
use local::signing_key::LocalSigningKey;
use platform::objects::Objects;
use platform::records::Table;
use platform::records::audit::AuditTrail;
use platform::records::logs::{LogHead, LogId, LogKind};
use platform::{Clock, Result, Tenant, UtcTime};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct World {
    _services: Services,
    _data: DataDir,
    pub clock: Clock,
    pub events: Events,
    pub events_table: Table,
    pub trail: AuditTrail,
    pub logs: Logs,
    pub objects: Objects,
    pub key: Arc<LocalSigningKey>,
    pub tenant: Tenant,
    pub log: LogId,
    engine: Engine,
    folder: TempDir,
}

pub fn at(time: &str) -> UtcTime {
    time.parse().unwrap()
}

impl World {
    /// Starts at 10:10 on 24 November 2026.
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(&folder.path().join("data")).unwrap();
        let services = Services::open(&data).unwrap();
        let table = |name| services.table(name);
        let children = folder.path().join("children");
        std::fs::create_dir_all(&children).unwrap();
        let mut engine = EngineConfig::new(children).unwrap();
        engine.program = program();
        engine.library_path = platform::config::library_path();
        Self {
            clock: Clock::manual(at("2026-11-24T10:10:00Z")),
            events: Events::new(table(EVENTS_TABLE)),
            events_table: table(EVENTS_TABLE),
            trail: AuditTrail::new(table(AUDIT_TABLE)),
            logs: Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE)),
            objects: services.bucket(DATA_BUCKET),
            key: Arc::new(LocalSigningKey::of_digests(&data).unwrap()),
            tenant: Tenant::new("acme", "demo").unwrap(),
            log: LogId::new("acme", Some("demo"), LogKind::Events),
            engine: Engine::new(engine),
            _data: data,
            folder,
            _services: services,
        }
    }

    pub fn archiver(&self) -> Archiver {
        self.archiver_with("archiver", 90, Crash::Never)
    }

    /// Returns an archiver with a folder of its own.
    pub fn archiver_with(&self, name: &str, events_days: u64, crash: Crash) -> Archiver {
        let config = ArchiverConfig {
            program: Some(program()),
            folder: self.folder.path().join(name),
            memory_bytes: 256 * 1_024 * 1_024,
            retention: Retention {
                events_days,
                ..Retention::default()
            },
            crash,
        };
        let (logs, objects) = (self.logs.clone(), self.objects.clone());
        Archiver::new(logs, objects, self.key.clone(), self.clock.clone(), &config).unwrap()
    }

    pub fn store(&self) -> LogStore {
        let config = LogStoreConfig {
            program: Some(program()),
            directory: self.folder.path().join("readers"),
            cache_bytes: 1 << 30,
            query_memory_bytes: 256 << 20,
            max_children: 2,
        };
        LogStore::new(self.logs.clone(), self.objects.clone(), &config).unwrap()
    }

    pub async fn pass(&self) -> Passed {
        self.archiver().pass(&self.log).await.unwrap()
    }

    /// Returns the folder of the test, whose files the children may read.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn advance_minutes(&self, minutes: i64) {
        self.clock.advance_ms(minutes * 60_000);
    }

    /// Writes an event that happened at `time`.
    pub async fn event(&self, id: &str, time: &str) {
        let record = EventRecord {
            id: id.to_owned(),
            envelope: envelope(id, time, &json!({ "n": 1 })).to_string(),
            details_key: None,
            received_at: self.clock.now(),
            lineage: Vec::new(),
            addressee: None,
            matched_at: None,
            private_to: None,
        };
        self.events.insert(&self.tenant, &record).await.unwrap();
    }

    pub async fn events(&self, ids: std::ops::Range<usize>, time: &str) {
        for id in ids {
            self.event(&format!("e{id:04}"), time).await;
        }
    }

    pub async fn head(&self) -> LogHead {
        self.logs.head(&self.log).await.unwrap().unwrap()
    }

    /// Returns the files that readers see.
    pub async fn files(&self) -> Vec<LogFile> {
        let mut files = self.logs.all_files(&self.log).await.unwrap();
        files.retain(|file| file.replaced_by.is_none());
        files
    }

    pub async fn tail(&self) -> usize {
        self.logs.tail_keys(&self.log, None).await.unwrap().len()
    }

    /// Returns how often each id is in the files that readers see.
    pub async fn archived(&self) -> BTreeMap<String, u64> {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap();
        let mut archived = BTreeMap::new();
        for file in self.files().await {
            let path = folder.path().join(format!("{}.parquet", file.id));
            let key = self.log.file_key(&file.day, &file.id);
            assert!(
                self.objects.find_to_file(&key, &path, u64::MAX).await.unwrap(),
                "{key}"
            );
            for row in self
                .rows(
                    &path,
                    &format!("SELECT {} FROM", event_log::columns::id(self.log.kind)),
                )
                .await
            {
                *archived.entry(row[0].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
        archived
    }

    /// Runs `statement`, which ends before the name of the relation, over a file.
    pub async fn rows(&self, path: &Path, statement: &str) -> Vec<Vec<Value>> {
        let folder = path.parent().unwrap();
        let allowed = Duration::from_secs(60);
        let mut session = self.engine.open_folder("acme", folder, allowed).await.unwrap();
        let sql = format!("{statement} read_parquet({})", sql_path(path).unwrap());
        session.rows(&sql, &[]).await.unwrap()
    }

    pub async fn objects_of_log(&self) -> Vec<String> {
        let objects = self.objects.list("log/").await.unwrap();
        objects.into_iter().map(|object| object.key).collect()
    }

    /// Copies the log's objects to a folder, as from the bucket.
    pub async fn copy(&self) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        for key in self.objects_of_log().await {
            let path = copy.path().join(&key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, self.objects.find(&key).await.unwrap().unwrap()).unwrap();
        }
        copy
    }

    /// Returns what erases the log.
    pub fn eraser(&self) -> Eraser<'_> {
        Eraser {
            logs: &self.logs,
            objects: &self.objects,
            key: self.key.as_ref(),
            clock: &self.clock,
        }
    }

    pub async fn public_keys(&self) -> PublicKeys {
        PublicKeys::of(self.key.as_ref()).await.unwrap()
    }

    pub async fn verify(&self, copy: &Path, expected: &[ExpectedDigest]) -> Result<Report> {
        self.verify_with(copy, &self.public_keys().await, expected).await
    }

    pub async fn verify_with(
        &self,
        copy: &Path,
        keys: &PublicKeys,
        expected: &[ExpectedDigest],
    ) -> Result<Report> {
        let copy = LogCopy::of_folder(copy, |_| None)?;
        verify(&copy, keys, expected, self.clock.now(), &mut |_| {}).await
    }
}

pub fn envelope(id: &str, time: &str, details: &Value) -> Value {
    json!({
        "event_id": id,
        "event_category": "content",
        "action": "created",
        "resource_type": "content_object",
        "resource_id": "r1",
        "account_id": "acme",
        "project_id": "demo",
        "timestamp": time,
        "source": "test",
        "details": details,
    })
}

/// Returns the program whose `main` starts child processes.
fn program() -> PathBuf {
    tests::binary("millrace")
}
