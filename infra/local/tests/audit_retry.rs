//! Tests that an audit record that the table refuses is written later, once, and that an invalid record is
//! set aside.
#![cfg(test)]

use std::sync::Arc;

use event_log::logs::Logs;
use local::data_dir::DataDir;
use local::queue::{LocalQueue, handler};
use local::queues::Settings;
use local::services::{AUDIT_TABLE, EVENTS_TABLE, Services};
use platform::auth::{Principal, PrincipalKind};
use platform::http::audit::{AuditLog, event};
use platform::queue::Queue as _;
use platform::records::audit::{AuditAction, AuditEvent, AuditTrail};
use platform::records::logs::{LogId, LogKind};
use platform::{Clock, ids};

const SETTINGS: Settings = Settings {
    name: "audit-retry",
    concurrency: 1,
    batch_size: 10,
    max_receives: 1,
    group_share: usize::MAX,
};

fn a_record() -> AuditEvent {
    let principal = Principal {
        kind: PrincipalKind::User("ada".to_owned()),
        account_id: "acme".to_owned(),
        project_id: Some("demo".to_owned()),
        tenant_id: None,
        account_name: None,
        project_name: None,
        roles: Vec::new(),
        permissions: Default::default(),
        valid_until: None,
    };
    let now = Clock::System.now();
    let mut record = event(AuditAction::Create, "prompt", &principal, now);
    record.request_id = ids::new_id(now);
    record
}

/// Starts a queue whose records the function writes.
fn queue(trail: AuditTrail) -> Arc<LocalQueue> {
    let queue = LocalQueue::new(SETTINGS);
    queue.consume(handler(trail, |trail, batch| async move {
        audit_writer_function::handle(&trail, batch).await
    }));
    queue
}

async fn audit_events(services: &Services) -> Vec<AuditEvent> {
    let table = |name| services.table(name);
    let logs = Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE));
    let log = LogId::new("acme", Some("demo"), LogKind::Audit);
    let entries = logs.tail::<AuditEvent>(&log, None).await.unwrap();
    entries.into_iter().map(|entry| entry.record).collect()
}

#[tokio::test]
async fn a_record_that_the_table_refused_is_written_later_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let services = Services::open(&DataDir::open(folder.path()).unwrap()).unwrap();
    let queue = queue(AuditTrail::new(services.table(AUDIT_TABLE)));
    let broken = AuditTrail::new(services.table("no-such-table"));
    let log = AuditLog::new(broken, queue.clone());
    let record = a_record();
    log.write(&record).await;
    log.write(&record).await;
    queue.drain().await;
    assert_eq!(audit_events(&services).await, [record]);
    assert!(queue.dead_letters().is_empty());
}

#[tokio::test]
async fn an_invalid_record_is_set_aside_and_delays_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let services = Services::open(&DataDir::open(folder.path()).unwrap()).unwrap();
    let queue = queue(AuditTrail::new(services.table(AUDIT_TABLE)));
    let record = a_record();
    queue.send("not a record").await.unwrap();
    queue
        .send(&serde_json::to_string(&record).unwrap())
        .await
        .unwrap();
    queue.drain().await;
    assert_eq!(audit_events(&services).await, [record]);
    assert_eq!(queue.dead_letters(), ["not a record"]);
}
