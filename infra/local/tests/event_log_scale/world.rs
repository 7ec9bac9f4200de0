//! Provides records, objects, an archiver and readers of the log, over one data directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use event_log::archive::{Archiver, ArchiverConfig, Crash};
use event_log::logs::Logs;
use event_log::{LogStore, LogStoreConfig, write};
use events::records::events::Events;
use events::retention::Retention;
use local::data_dir::DataDir;
use local::services::{AUDIT_TABLE, DATA_BUCKET, EVENTS_TABLE, Services};
use local::signing_key::LocalSigningKey;
use platform::records::audit::AuditTrail;
use platform::records::logs::{LogHead, LogId};
use platform::{Clock, ids};
use tempfile::TempDir;

const ALLOWED: Duration = Duration::from_secs(600);
/// Default number of events; a larger one can be set by hand.
pub const EVENTS: u64 = 2_000;

pub struct World {
    pub events: Events,
    pub trail: AuditTrail,
    pub store: LogStore,
    pub archiver: Archiver,
    _services: Services,
    data: DataDir,
    _folder: TempDir,
}

impl World {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(&folder.path().join("data")).unwrap();
        let services = Services::open(&data).unwrap();
        let table = |name| services.table(name);
        let logs = Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE));
        let objects = services.bucket(DATA_BUCKET);
        // The test program cannot run as a child of the engine.
        let program = Some(tests::binary("millrace"));
        let store = LogStoreConfig {
            program: program.clone(),
            directory: folder.path().join("store"),
            cache_bytes: 1 << 30,
            query_memory_bytes: 1 << 29,
            max_children: 1,
        };
        let archiver = ArchiverConfig {
            program,
            folder: folder.path().join("archiver"),
            memory_bytes: 1 << 29,
            retention: Retention::default(),
            crash: Crash::Never,
        };
        let key = Arc::new(LocalSigningKey::of_digests(&data).unwrap());
        Self {
            events: Events::new(table(EVENTS_TABLE)),
            trail: AuditTrail::new(table(AUDIT_TABLE)),
            store: LogStore::new(logs.clone(), objects.clone(), &store).unwrap(),
            archiver: Archiver::new(logs, objects, key, Clock::System, &archiver).unwrap(),
            _services: services,
            data,
            _folder: folder,
        }
    }

    /// Returns the folder of the data bucket's objects.
    pub fn bucket(&self) -> PathBuf {
        self.data.path("objects").join(DATA_BUCKET)
    }

    /// Adds rows to a log that are in no table, as if they were archived and had expired: one file per day.
    /// The log has a head.
    pub async fn archive_rows(&self, log: &LogId, rows: &BTreeMap<String, Vec<String>>) {
        let mut files = Vec::new();
        for (day, rows) in rows {
            let folder = self.store.temporary_folder(&log.account).unwrap();
            let (lines, output) = (folder.path().join("rows"), folder.path().join("file"));
            std::fs::write(&lines, rows.join("\n") + "\n").unwrap();
            let mut session = self.store.session(&log.account, ALLOWED).await.unwrap();
            let file = write(&mut session, log.kind, &[lines], &output).await.unwrap();
            let id = ids::new_id(Clock::System.now());
            let key = log.file_key(day, &id);
            self.store.objects().put_file(&key, &output).await.unwrap();
            files.push(file.into_file(id, day, Clock::System.now(), 0));
        }
        for files in files.chunks(90) {
            let head = self.store.logs().head(log).await.unwrap().unwrap();
            let next = LogHead {
                waiting_files: head.waiting_files + files.len() as u64,
                ..head.clone()
            };
            let logs = self.store.logs();
            assert!(logs.commit(log, &head, files, &[], next).await.unwrap());
        }
    }
}

/// Returns the configured number of events.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration")]
pub fn events() -> u64 {
    std::env::var("EVENTS").map_or(EVENTS, |text| text.parse().unwrap())
}
