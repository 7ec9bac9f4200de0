//! Measures what the log adds to the cost of an event: write units when it is accepted and matched, and when
//! it is archived; and the speed of an archiver's pass.

use std::sync::Arc;
use std::time::Instant;

use aws::Aws;
use event_log::archive::{Archiver, ArchiverConfig, Crash};
use event_log::logs::Logs;
use events::document_processed::{DocumentProcessed, Origin, ProcessedDocument};
use events::records::events::{EventRecord, Events, MATCH_GRACE_MS};
use events::retention::Retention;
use local::data_dir::DataDir;
use local::services::{AUDIT_TABLE, EVENTS_TABLE};
use local::signing_key::LocalSigningKey;
use platform::objects::Objects;
use platform::records::logs::{LogId, LogKind};
use platform::records::{Changes, Condition, Key, Table, Written, keys};
use platform::{Clock, Tenant, ids};
use serde_json::{Value, json};

use crate::Error;
use crate::counter::{Counter, Usage};

const EVENTS: u64 = 2_000;
const FEW: u64 = 50;

pub async fn costs(data: &DataDir, objects: Objects, aws: &Aws, counter: &Counter) -> Result<Value, Error> {
    let table = |name| aws.table(name);
    let tenant = Tenant::new("acme", "archived")?;
    let events = Events::new(table(EVENTS_TABLE));
    // The log's head is written once, not per event, so write it before counting.
    events.prepare(&tenant, Clock::System.now()).await?;
    let before = without_log(&table(EVENTS_TABLE), &tenant, counter).await?;
    take_usage(counter);
    for number in 0..EVENTS {
        let record = record(&tenant, number)?;
        events.insert(&tenant, &record).await?;
        events.matched(&tenant, &record, Clock::System.now()).await?;
    }
    let accepted = take_usage(counter);

    let config = ArchiverConfig {
        program: None,
        folder: data.path("archiver"),
        memory_bytes: 512 << 20,
        retention: Retention::default(),
        crash: Crash::Never,
    };
    let key = Arc::new(LocalSigningKey::of_digests(data)?);
    let logs = Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE));
    let archiver = Archiver::new(logs.clone(), objects, key, Clock::System, &config)?;
    let log = LogId::new("acme", Some("archived"), LogKind::Events);
    let began = Instant::now();
    let passed = archiver.pass(&log).await?;
    let seconds = began.elapsed().as_secs_f64();
    let archived = take_usage(counter);
    if passed.records != EVENTS {
        return Err(format!("of {EVENTS} events {} are archived", passed.records).into());
    }
    let bytes: u64 = logs.all_files(&log).await?.iter().map(|file| file.bytes).sum();
    let per_event = |units: f64| units / EVENTS as f64;
    Ok(json!({
        "events": EVENTS,
        "write_units_without_log": before,
        "write_units_accepted": per_event(accepted.write_units),
        "write_units_archived": per_event(archived.write_units),
        "read_units_archived": per_event(archived.read_units),
        "events_per_second": EVENTS as f64 / seconds,
        "bytes": bytes as f64 / EVENTS as f64,
    }))
}

fn take_usage(counter: &Counter) -> Usage {
    std::mem::take(&mut *counter.usage())
}

/// Measures the write units of an event that is in no index of its log, as all events were before logs
/// existed.
async fn without_log(table: &Table, tenant: &Tenant, counter: &Counter) -> Result<f64, Error> {
    take_usage(counter);
    for number in 0..FEW {
        let record = record(tenant, number)?;
        let key = Key::new(format!("{tenant}#without-log#{}", record.id), "event");
        let due = key.clone().with_due(
            keys::DueKind::Events.shard_of(&record.id),
            record.received_at.plus_ms(MATCH_GRACE_MS),
        );
        let put = table.put(&due, &record, Condition::Absent).await?;
        let changes = Changes::default()
            .set("matched_at", &record.received_at)?
            .not_due();
        let updated = table.update(&key, &changes, Condition::Present).await?;
        if put != Written::Done || updated != Written::Done {
            return Err("an event without the log was not written".into());
        }
    }
    Ok(take_usage(counter).write_units / FEW as f64)
}

fn record(tenant: &Tenant, number: u64) -> Result<EventRecord, Error> {
    let now = Clock::System.now();
    let id = ids::new_id(now);
    let document = ProcessedDocument {
        document_id: format!("document-{number}"),
        details: DocumentProcessed {
            pipeline: Some("invoices".to_owned()),
            page_count: Some(number % 20),
            property_count: Some(number % 50),
            verdict: Some("ok".to_owned()),
            ..DocumentProcessed::default()
        },
        ..ProcessedDocument::default()
    };
    let envelope = document.event(&Origin {
        event_id: &id,
        tenant,
        tenant_id: None,
        source: "documents",
        at: now,
    })?;
    Ok(EventRecord {
        id,
        envelope: envelope.to_json()?,
        details_key: None,
        received_at: now,
        lineage: Vec::new(),
        addressee: None,
        matched_at: None,
        private_to: None,
    })
}
