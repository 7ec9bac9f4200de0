//! Tests that the instances of the ingest function share the rate of a channel.
#![cfg(test)]

use events::records::ingest_counts::IngestCounts;
use ingest_function::ChannelRates;
use local::data_dir::DataDir;
use local::services::{EVENTS_TABLE, Services};
use platform::config::{Environment, variables};
use platform::{Clock, ErrorKind, Tenant, UtcTime};

#[tokio::test]
async fn two_instances_take_what_a_channel_may_and_then_refuse() {
    let folder = tempfile::tempdir().unwrap();
    let services = Services::open(&DataDir::open(folder.path()).unwrap()).unwrap();
    let clock = Clock::manual(UtcTime::EPOCH.plus_ms(3_000));
    let variables = [
        (variables::INGEST_CHANNEL_RATE.name, "2"),
        (variables::INGEST_CONCURRENCY.name, "2"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = Environment::from_variables(variables).unwrap();
    let instance = || {
        let counts = IngestCounts::new(services.table(EVENTS_TABLE));
        ChannelRates::from_environment(&environment, counts, clock.clone()).unwrap()
    };
    let instances = [instance(), instance()];
    let tenant = Tenant::new("acme", "shop").unwrap();
    let mut successes = 0;
    let mut refusals = Vec::new();
    for _ in 0..40 {
        for instance in &instances {
            match instance.admit(&tenant, "orders", 1).await {
                Ok(()) => successes += 1,
                Err(refusal) => refusals.push(refusal),
            }
        }
    }
    assert!((20..=25).contains(&successes), "{successes}");
    assert_eq!(refusals[0].kind(), ErrorKind::TooManyRequests);
    assert_eq!(refusals[0].retry_after_s(), Some(7));
    // Another channel, another project and the next window have counts of their own.
    instances[0].admit(&tenant, "bills", 1).await.unwrap();
    let other = Tenant::new("acme", "other").unwrap();
    instances[0].admit(&other, "orders", 1).await.unwrap();
    clock.advance_ms(7_000);
    instances[0].admit(&tenant, "orders", 1).await.unwrap();
}
