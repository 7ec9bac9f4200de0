//! Tests logs over the local records: the tail of unarchived records, and commits of files.
#![cfg(test)]

use event_log::logs::{LogFile, Logs};
use events::records::events::{EventRecord, Events};
use local::data_dir::DataDir;
use local::services::{AUDIT_TABLE, EVENTS_TABLE, Services};
use platform::records::logs::{self, FileRef, LogHead, LogId, LogKind};
use platform::{Tenant, UtcTime};

struct World {
    _folder: tempfile::TempDir,
    events: Events,
    logs: Logs,
    services: Services,
    tenant: Tenant,
    log: LogId,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let services = Services::open(&DataDir::open(folder.path()).unwrap()).unwrap();
        let table = |name| services.table(name);
        Self {
            events: Events::new(table(EVENTS_TABLE)),
            logs: Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE)),
            tenant: Tenant::new("acme", "demo").unwrap(),
            log: LogId::new("acme", Some("demo"), LogKind::Events),
            services,
            _folder: folder,
        }
    }

    async fn insert(&self, id: &str, second: u64) {
        let event = EventRecord {
            id: id.to_owned(),
            envelope: "{}".to_owned(),
            details_key: None,
            received_at: at(second),
            lineage: Vec::new(),
            addressee: None,
            matched_at: None,
            private_to: None,
        };
        self.events.insert(&self.tenant, &event).await.unwrap();
    }

    async fn tail(&self, most: Option<usize>) -> Vec<String> {
        let tail = self.logs.tail::<EventRecord>(&self.log, most).await.unwrap();
        tail.into_iter().map(|record| record.record.id).collect()
    }

    async fn due(&self, kind: LogKind, second: u64) -> Vec<LogId> {
        let table = match kind {
            LogKind::Events => EVENTS_TABLE,
            LogKind::Audit => AUDIT_TABLE,
        };
        let table = self.services.table(table);
        logs::due(&table, kind, at(second), Some(10)).await.unwrap()
    }

    async fn head(&self) -> LogHead {
        self.logs.head(&self.log).await.unwrap().unwrap()
    }
}

fn at(second: u64) -> UtcTime {
    UtcTime::EPOCH.plus_ms(second * 1_000)
}

fn file(id: &str, day: &str) -> LogFile {
    LogFile {
        id: id.to_owned(),
        day: day.to_owned(),
        records: 1,
        private: 0,
        bytes: 10,
        sha256: "00".to_owned(),
        from: at(1),
        to: at(2),
        first_written_at: None,
        written_at: at(3),
        digest: 0,
        replaces: Vec::new(),
        replaced_by: None,
        replaced_at: None,
    }
}

#[tokio::test]
async fn a_record_is_in_the_tail_until_it_is_settled() {
    let world = World::new().await;
    assert_eq!(world.logs.head(&world.log).await.unwrap(), None);
    for number in 0..230 {
        world.insert(&format!("e{number:03}"), number).await;
    }
    // A second write of an event changes nothing.
    world.insert("e007", 7).await;
    assert_eq!(world.tail(None).await.len(), 230);
    assert_eq!(world.tail(Some(2)).await, ["e000", "e001"]);

    let keys: Vec<_> = (0..229)
        .map(|number| {
            let id = format!("e{number:03}");
            world.logs.record_key(&world.log, &id, at(0)).unwrap()
        })
        .collect();
    let (first, rest) = keys.split_at(1);
    world.logs.settle(&world.log, first, 4_000_000_000).await.unwrap();
    world.logs.settle(&world.log, rest, 4_000_000_000).await.unwrap();
    // Settling twice changes nothing.
    world.logs.settle(&world.log, first, 4_000_000_000).await.unwrap();
    assert_eq!(world.tail(None).await, ["e229"]);
    // An archived event is not added to the tail again, nor written again.
    world.insert("e003", 3).await;
    assert_eq!(world.tail(None).await, ["e229"]);
    let record = world.events.find(&world.tenant, "e003").await.unwrap();
    assert_eq!(record.unwrap().received_at, at(3));
    // The event is still due for matching.
    assert_eq!(world.events.due(at(1_000), None).await.unwrap().len(), 230);
}

#[tokio::test]
async fn a_log_is_due_from_its_first_record_on() {
    let world = World::new().await;
    world.insert("e1", 100).await;
    assert_eq!(world.due(LogKind::Events, 159).await, []);
    assert_eq!(
        world.due(LogKind::Events, 160).await,
        std::slice::from_ref(&world.log)
    );
    assert_eq!(world.due(LogKind::Audit, 1_000).await, []);
    let logs = world.logs.of_account("acme", LogKind::Events).await.unwrap();
    assert_eq!(logs, [(world.log.clone(), world.head().await)]);
    assert_eq!(world.logs.of_account("other", LogKind::Events).await.unwrap(), []);
}

#[tokio::test]
async fn of_two_commits_over_one_head_one_lands() {
    let world = World::new().await;
    world.insert("e1", 0).await;
    let head = world.head().await;
    let first = file("f1", "1970-01-01");
    let next = LogHead {
        unsettled: vec![FileRef {
            day: first.day.clone(),
            id: first.id.clone(),
        }],
        due_at: at(500),
        ..head.clone()
    };
    let commit = |added: &'static str| {
        let (world, head, next) = (&world, head.clone(), next.clone());
        async move {
            let added = [file(added, "1970-01-01")];
            world
                .logs
                .commit(&world.log, &head, &added, &[], next)
                .await
                .unwrap()
        }
    };
    assert!(commit("f1").await);
    assert!(!commit("f2").await);
    let head = world.head().await;
    assert_eq!((head.revision, head.unsettled.len()), (1, 1));
    assert_eq!(world.due(LogKind::Events, 499).await, []);

    let merged = LogFile {
        replaces: vec!["f1".to_owned()],
        ..file("f3", "1970-01-01")
    };
    let replaced = [LogFile {
        replaced_by: Some("f3".to_owned()),
        ..first.clone()
    }];
    let logs = &world.logs;
    let merges = logs.commit(
        &world.log,
        &head,
        std::slice::from_ref(&merged),
        &replaced,
        head.clone(),
    );
    assert!(merges.await.unwrap());
    let days = logs.files_of_day(&world.log, "1970-01-01").await.unwrap();
    let ids: Vec<_> = days
        .iter()
        .map(|file| (&*file.id, file.replaced_by.as_deref()))
        .collect();
    assert_eq!(ids, [("f1", Some("f3")), ("f3", None)]);
    assert_eq!(logs.files_of_day(&world.log, "1970-01-02").await.unwrap(), []);

    // Only a replaced file is removed.
    for file in &days {
        logs.remove_file(&world.log, file).await.unwrap();
    }
    assert_eq!(logs.all_files(&world.log).await.unwrap(), [merged]);
}

#[tokio::test]
async fn a_file_is_found_by_the_times_of_its_records() {
    let world = World::new().await;
    world.insert("e1", 0).await;
    let head = world.head().await;
    let spanning = |id: &str, day: &str, from: u64, to: u64| LogFile {
        from: at(from * 86_400),
        to: at(to * 86_400 + 86_399),
        ..file(id, day)
    };
    let files = [
        // Of its day, of the days around it, late, early, and of all times.
        spanning("of-day", "1970-03-01", 59, 59),
        spanning("around", "1970-03-01", 58, 60),
        spanning("late", "1970-03-01", 5, 5),
        spanning("early", "1970-03-01", 100, 100),
        spanning("wide", "1970-03-02", 0, 3_000),
    ];
    assert!(
        world
            .logs
            .commit(&world.log, &head, &files, &[], head.clone())
            .await
            .unwrap()
    );
    for from in 0..110 {
        for length in [0, 1, 2, 40] {
            let (begin, end) = (at(from * 86_400 + 86_399), at((from + length) * 86_400 + 86_399));
            let files_in_range = world.logs.files(&world.log, begin, end).await.unwrap();
            let mut ids: Vec<_> = files_in_range.into_iter().map(|file| file.id).collect();
            ids.sort_unstable();
            let expected = files.iter().filter(|file| file.from <= end && begin <= file.to);
            let mut expected: Vec<_> = expected.map(|file| file.id.clone()).collect();
            expected.sort_unstable();
            assert_eq!(ids, expected, "{from} {length}");
        }
    }
    assert_eq!(world.logs.files(&world.log, at(1), at(0)).await.unwrap(), []);
    let of_day = world.logs.files_of_day(&world.log, "1970-03-01").await.unwrap();
    assert_eq!(of_day.len(), 4);
    assert_eq!(world.logs.all_files(&world.log).await.unwrap().len(), 5);
    let ids = world.logs.all(LogKind::Events).await.unwrap();
    assert_eq!(ids, std::slice::from_ref(&world.log));
}
