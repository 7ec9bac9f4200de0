//! Calls the emulator of DynamoDB that holds a runner's records, directly through the AWS SDK.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::AttributeValue;
use tests::lambda::Emulators;

/// Maximum number of items of one `BatchWriteItem` in DynamoDB.
pub(crate) const BATCH: usize = 25;
/// Concurrent batches.
pub(crate) const WRITERS: u64 = 4;

pub(crate) type Item = HashMap<String, AttributeValue>;

#[derive(Clone)]
pub struct Emulator {
    pub(crate) client: Client,
    /// Counter for the next id.
    count: Arc<AtomicU64>,
}

impl Emulator {
    pub fn new(emulators: &Emulators) -> Self {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&emulators.endpoint)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "bench"))
            .build();
        Self {
            client: Client::from_conf(config),
            count: Arc::default(),
        }
    }

    /// Returns an id in the service's form: ascending, with a random end.
    pub(crate) fn next_id(&self) -> String {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let random: u64 = rand::random();
        format!(
            "01900000-{:04x}-7{:03x}-8{:03x}-{:012x}",
            count >> 12,
            count & 0xfff,
            random >> 52,
            random & 0xffff_ffff_ffff
        )
    }
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}
