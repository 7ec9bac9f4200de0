//! Walks through the audit trail.

use std::collections::{BTreeMap, HashSet};

use event_log::listing::AuditFilter;
use event_log::row::audit_row;
use platform::auth::{Principal, Viewer};
use platform::http::audit::event;
use platform::records::audit::{AuditAction, AuditEvent};
use platform::records::logs::{LogId, LogKind};
use platform::{Clock, Tenant, UtcTime, ids};

use crate::world::{World, events};

/// Records per page.
const PAGE: usize = 200;
/// Records that start in a table and not in files.
const IN_TABLE: u64 = 300;
const FEWEST: u64 = 2_000;
/// Events per audit record.
const SHARE: u64 = 10;
/// Time between two records: each minute has several, and some share their millisecond.
const GAP_MS: u64 = 25_000;

fn record(id: &str, at: UtcTime) -> AuditEvent {
    let tenant = Tenant::new("acme", "demo").unwrap();
    AuditEvent {
        id: id.to_owned(),
        ..event(AuditAction::Update, "prompt", &Principal::system(&tenant), at)
    }
}

#[tokio::test]
async fn a_walk_yields_each_record_once_while_others_arrive() {
    let world = World::new().await;
    let log = LogId::new("acme", Some("demo"), LogKind::Audit);
    let count = (events() / SHARE).max(FEWEST);
    let to = Clock::System.now();
    let begins = to.as_millis() - i64::try_from(count * GAP_MS).unwrap();
    let begins = UtcTime::from_millis(begins).unwrap();
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut expected = HashSet::new();
    for number in 0..count {
        // Each pair of records has the same time.
        let at = begins.plus_ms(number / 2 * 2 * GAP_MS);
        let record = record(&format!("{number:07}"), at);
        expected.insert(record.id.clone());
        if number + IN_TABLE < count {
            rows.entry(at.day())
                .or_default()
                .push(audit_row(&record).unwrap());
        } else {
            world.trail.insert(&record).await.unwrap();
        }
    }
    world.archive_rows(&log, &rows).await;

    let filter = AuditFilter {
        to: Some(to),
        ..AuditFilter::default()
    };
    let viewer = Viewer::operator();
    let mut events = Vec::new();
    loop {
        let offset = events.len() as u64;
        let page = world
            .store
            .list_audit("acme", Some("demo"), &filter, &viewer, (offset, PAGE));
        let page = page.await.unwrap();
        events.extend(page.events);
        if !page.has_next {
            break;
        }
        let now = Clock::System.now().plus_ms(1);
        world.trail.insert(&record(&ids::new_id(now), now)).await.unwrap();
        if offset.is_multiple_of(PAGE as u64 * 5) {
            world.archiver.pass(&log).await.unwrap();
        }
    }
    let order: Vec<_> = events
        .iter()
        .map(|event| (event.timestamp, event.id.as_str()))
        .collect();
    assert!(
        order.windows(2).all(|pair| pair[0].0 >= pair[1].0),
        "newest first"
    );
    let ids: HashSet<String> = events.iter().map(|event| event.id.clone()).collect();
    assert_eq!(events.len(), ids.len(), "none comes twice");
    assert_eq!(ids, expected);
}
