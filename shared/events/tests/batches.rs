//! Tests, by seed and with faults, that the events of a request are written all or not at all, and each once.
#![cfg(test)]

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use conformance::Tables;
use conformance::faults::{Faulty, Rates};
use conformance::model::Model;
use conformance::nowhere::Nowhere;
use events::envelope::{Category, Envelope, RawObject};
use events::publish::{Member, Publisher};
use events::records::events::Events;
use parking_lot::Mutex;
use platform::bus::Bus;
use platform::objects::Objects;
use platform::records::Table;
use platform::{Result, Tenant, UtcTime, ids};

/// Events of a request.
const MEMBERS: usize = 5;
/// Time after which the sweeper takes over, in milliseconds.
const LATER_MS: u64 = 60_000;

#[derive(Default)]
struct PublishedIds(Mutex<BTreeSet<String>>);

#[async_trait]
impl Bus for PublishedIds {
    async fn publish(&self, detail: &str) -> Result<()> {
        let event: Envelope = serde_json::from_str(detail).unwrap();
        self.0.lock().insert(event.event_id);
        Ok(())
    }
}

fn member(tenant: &Tenant, now: UtcTime, number: usize) -> Member {
    let id = ids::new_id(now);
    Member {
        envelope: Envelope {
            event_id: id.clone(),
            event_category: Category::External,
            action: "received".to_owned(),
            resource_type: "order".to_owned(),
            resource_id: id,
            account_id: tenant.account().to_owned(),
            project_id: tenant.project().to_owned(),
            tenant_id: None,
            timestamp: now,
            source: "external:shop".to_owned(),
            resource_data: RawObject::new(),
            details: RawObject::new(),
            meters: Vec::new(),
            traceparent: None,
            tracestate: None,
        },
        // Some have a key, some have none.
        idempotency_key: number.is_multiple_of(2).then(|| format!("key-{number}")),
    }
}

#[tokio::test]
async fn events_of_a_request_are_written_all_or_not_at_all() {
    let (mut whole, mut none) = (0, 0);
    for seed in 0..200 {
        let tables = Tables::named();
        let (store, faults) = Faulty::new(Model::new(&tables), &tables, seed);
        let events = Events::new(Table::new(Arc::new(store), &tables.listed));
        let bus = Arc::new(PublishedIds::default());
        let publisher = Publisher::new(
            events.clone(),
            Objects::new(Arc::new(Nowhere), "data"),
            bus.clone(),
        );
        let tenant = Tenant::new("acme", "demo").unwrap();
        let now: UtcTime = "2026-01-02T03:04:05Z".parse().unwrap();
        events.prepare(&tenant, now).await.unwrap();
        let members: Vec<_> = (0..MEMBERS).map(|number| member(&tenant, now, number)).collect();
        let ids: Vec<_> = members
            .iter()
            .map(|member| member.envelope.event_id.clone())
            .collect();
        faults.on(Rates {
            throttled: 15,
            lost: 10,
            ..Rates::default()
        });
        let answer = publisher.publish_together(&tenant, "channel", members, now).await;
        faults.off();
        for _ in 0..2 {
            publisher
                .finish_batches(now.plus_ms(LATER_MS), 100)
                .await
                .unwrap();
        }
        assert_eq!(
            publisher
                .finish_batches(now.plus_ms(LATER_MS), 100)
                .await
                .unwrap(),
            0,
            "{seed}"
        );
        let mut stored_count = 0;
        for id in &ids {
            stored_count += usize::from(events.find(&tenant, id).await.unwrap().is_some());
        }
        match answer {
            Ok(event_ids) => assert_eq!((event_ids, stored_count), (ids.clone(), MEMBERS), "{seed}"),
            // The answer may be lost although the request was accepted.
            Err(_) => assert!([0, MEMBERS].contains(&stored_count), "{seed}: {stored_count}"),
        }
        let published_count = bus.0.lock().len();
        assert_eq!(published_count, stored_count, "{seed}");
        whole += usize::from(stored_count == MEMBERS);
        none += usize::from(stored_count == 0);
    }
    assert!(whole > 50 && none > 5, "{whole} {none}");
}
