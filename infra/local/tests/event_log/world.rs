//! Provides logs with their records and objects, and an archiver whose steps a test takes one by one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use event_log::logs::{LogFile, Logs, TailRecord};
use event_log::{LogStore, LogStoreConfig, Snapshot, columns, row};
use events::envelope::{Category, Envelope};
use events::payload;
use events::records::events::{EventRecord, Events};
use local::data_dir::DataDir;
use local::services::{AUDIT_TABLE, DATA_BUCKET, EVENTS_TABLE, Services};
use platform::records::audit::AuditTrail;
use platform::records::logs::{FileRef, LogHead, LogId, LogKind};
use platform::{Result, Tenant, UtcTime, ids};
use tempfile::TempDir;

const ALLOWED: Duration = Duration::from_secs(60);

pub(crate) struct World {
    folder: TempDir,
    services: Services,
    pub(crate) store: LogStore,
    pub(crate) audit: AuditTrail,
    events: Events,
}

pub(crate) fn at(text: &str) -> UtcTime {
    text.parse().unwrap()
}

/// Covers all times of the tests.
pub(crate) fn ever() -> (UtcTime, UtcTime) {
    (at("2026-01-01T00:00:00Z"), at("2026-12-31T23:59:59.999Z"))
}

pub(crate) fn events_of(project: &str) -> LogId {
    LogId::new("acme", Some(project), LogKind::Events)
}

pub(crate) fn envelope(project: &str, id: &str, time: &str) -> Envelope {
    Envelope {
        event_id: id.to_owned(),
        event_category: Category::Content,
        action: "changed".to_owned(),
        resource_type: "content_object".to_owned(),
        resource_id: "d1".to_owned(),
        account_id: "acme".to_owned(),
        project_id: project.to_owned(),
        tenant_id: None,
        timestamp: at(time),
        source: "workflow".to_owned(),
        resource_data: BTreeMap::new(),
        details: BTreeMap::new(),
        meters: Vec::new(),
        traceparent: None,
        tracestate: None,
    }
}

/// Committed file, and the records whose markers are not yet removed.
pub(crate) struct Unsettled {
    pub(crate) file: LogFile,
    tail: Vec<TailRecord<EventRecord>>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(&folder.path().join("data")).unwrap();
        let services = Services::open(&data).unwrap();
        let table = |name| services.table(name);
        Self {
            store: store(&services, folder.path().join("cache"), 1 << 30),
            audit: AuditTrail::new(table(AUDIT_TABLE)),
            events: Events::new(table(EVENTS_TABLE)),
            services,
            folder,
        }
    }

    /// Opens the same records and objects with another cache.
    pub(crate) fn other_store(&self, cache: &str, cache_bytes: u64) -> LogStore {
        store(&self.services, self.folder.path().join(cache), cache_bytes)
    }

    pub(crate) async fn insert(&self, mut envelope: Envelope) {
        let tenant = Tenant::new(&envelope.account_id, &envelope.project_id).unwrap();
        let details_key = payload::keep(self.store.objects(), &tenant, &mut envelope).await;
        let record = EventRecord {
            id: envelope.event_id.clone(),
            envelope: envelope.to_json().unwrap(),
            details_key: details_key.unwrap(),
            received_at: at("2026-11-24T12:00:00.001Z"),
            lineage: Vec::new(),
            addressee: None,
            matched_at: None,
            private_to: None,
        };
        self.events.insert(&tenant, &record).await.unwrap();
    }

    /// Commits the records of a tail, each day as a file; None where another archiver committed first.
    pub(crate) async fn commit(&self, log: &LogId) -> Option<Vec<Unsettled>> {
        let logs = self.store.logs();
        let head = logs.head(log).await.unwrap().unwrap();
        let tail = logs.tail::<EventRecord>(log, None).await.unwrap();
        let mut days: BTreeMap<String, Vec<TailRecord<EventRecord>>> = BTreeMap::new();
        for record in tail {
            let envelope: Envelope = serde_json::from_str(&record.record.envelope).unwrap();
            let day = envelope.timestamp.to_string()[..10].to_owned();
            days.entry(day).or_default().push(record);
        }
        let mut files = Vec::new();
        for (day, tail) in days {
            files.push(self.write(log, day, tail).await);
        }
        let added: Vec<_> = files.iter().map(|unsettled| unsettled.file.clone()).collect();
        let next = LogHead {
            unsettled: added
                .iter()
                .map(|file| FileRef {
                    day: file.day.clone(),
                    id: file.id.clone(),
                })
                .collect(),
            ..head.clone()
        };
        logs.commit(log, &head, &added, &[], next)
            .await
            .unwrap()
            .then_some(files)
    }

    async fn write(&self, log: &LogId, day: String, tail: Vec<TailRecord<EventRecord>>) -> Unsettled {
        let mut rows = String::new();
        for record in &tail {
            let whole = payload::whole(self.store.objects(), &record.record)
                .await
                .unwrap();
            rows += &row::event_row(&record.record, &whole).unwrap();
            rows.push('\n');
        }
        let folder = self.store.temporary_folder(&log.account).unwrap();
        let (lines, output) = (folder.path().join("rows"), folder.path().join("new.parquet"));
        std::fs::write(&lines, rows).unwrap();
        let mut session = self.store.session(&log.account, ALLOWED).await.unwrap();
        let write_result = event_log::write(&mut session, log.kind, &[lines], &output).await;
        let file = self.file(log, day, write_result.unwrap(), &output).await;
        Unsettled { file, tail }
    }

    async fn file(
        &self,
        log: &LogId,
        day: String,
        file: event_log::WrittenFile,
        path: &std::path::Path,
    ) -> LogFile {
        let now = at("2026-11-24T13:00:00Z");
        let id = ids::new_id(now);
        let key = log.file_key(&day, &id);
        self.store.objects().put_file(&key, path).await.unwrap();
        file.into_file(id, &day, now, 0)
    }

    pub(crate) async fn settle(&self, log: &LogId, files: Vec<Unsettled>) {
        let keys = files.into_iter().flat_map(|file| file.tail);
        let keys: Vec<_> = keys.map(|record| record.key).collect();
        self.store.logs().settle(log, &keys, 4_000_000_000).await.unwrap();
    }

    /// Clears the head's list of unsettled files.
    pub(crate) async fn settled(&self, log: &LogId) {
        let head = self.store.logs().head(log).await.unwrap().unwrap();
        let next = LogHead {
            unsettled: Vec::new(),
            ..head.clone()
        };
        assert!(self.store.logs().save_head(log, &head, next).await.unwrap());
    }

    pub(crate) async fn archive(&self, log: &LogId) {
        let files = self.commit(log).await.unwrap();
        self.settle(log, files).await;
        self.settled(log).await;
    }

    /// Replaces files of one day by one.
    pub(crate) async fn merge(&self, log: &LogId, files: &[LogFile]) {
        let head = self.store.logs().head(log).await.unwrap().unwrap();
        let pins = self.store.local_files(log, files).await.unwrap();
        let paths: Vec<_> = pins.iter().map(|pin| pin.path().to_owned()).collect();
        let folder = self.store.temporary_folder(&log.account).unwrap();
        let output = folder.path().join("merged.parquet");
        let mut session = self.store.session(&log.account, ALLOWED).await.unwrap();
        let merge_result = event_log::merge(&mut session, log.kind, &paths, &output).await;
        let merged = self
            .file(log, files[0].day.clone(), merge_result.unwrap(), &output)
            .await;
        let replaced = files.iter().map(|file| LogFile {
            replaced_by: Some(merged.id.clone()),
            ..file.clone()
        });
        let replaced: Vec<_> = replaced.collect();
        let logs = self.store.logs();
        let committed = logs.commit(log, &head, &[merged], &replaced, head.clone()).await;
        assert!(committed.unwrap());
    }

    pub(crate) async fn snapshot(&self, logs: &[LogId]) -> Snapshot {
        let (from, to) = ever();
        self.store.snapshot(logs, from, to).await.unwrap()
    }

    /// Returns `project/id` of each event in a snapshot of these projects, sorted; a duplicated event appears
    /// twice.
    pub(crate) async fn ids(&self, projects: &[&str]) -> Result<Vec<String>> {
        let logs: Vec<_> = projects.iter().copied().map(events_of).collect();
        let (from, to) = ever();
        ids_of(&self.store.snapshot(&logs, from, to).await?).await
    }
}

pub(crate) async fn ids_of(snapshot: &Snapshot) -> Result<Vec<String>> {
    let id = columns::id(LogKind::Events);
    let sql = format!(
        "SELECT project_id || '/' || {id} FROM {} ORDER BY 1",
        snapshot.source()
    );
    let rows = snapshot.rows(&sql, &[]).await?;
    let ids = rows.into_iter().flatten();
    Ok(ids.map(|id| id.as_str().unwrap_or_default().to_owned()).collect())
}

fn store(services: &Services, directory: PathBuf, cache_bytes: u64) -> LogStore {
    let table = |name| services.table(name);
    let config = LogStoreConfig {
        program: Some(tests::binary("millrace")),
        directory,
        cache_bytes,
        query_memory_bytes: 512 << 20,
        max_children: 2,
    };
    let logs = Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE));
    let objects = services.bucket(DATA_BUCKET);
    LogStore::new(logs, objects, &config).unwrap()
}
