//! Reads several items at a time.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use platform::error::{Error, Result};
use platform::records::store::{Item, Key};
use rand::RngExt as _;

use super::attribute::{Attributes, item, key};
use super::{DynamoDb, failed};

/// Maximum number of consecutive attempts that read nothing. The SDK does not retry the keys that a throttled
/// read omits.
const MAX_ATTEMPTS: u32 = 6;
/// Half of the first pause after an attempt that read nothing, in milliseconds. Each further pause is twice
/// as long.
const PAUSE_MS: u64 = 25;

impl DynamoDb {
    pub(super) async fn batch_get(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        let mut missing: Vec<Attributes> = keys.iter().map(key).collect();
        let mut found: HashMap<(String, String), Attributes> = HashMap::new();
        let mut attempt = 0;
        while !missing.is_empty() {
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(missing))
                .consistent_read(true)
                .build()
                .map_err(Error::internal)?;
            let request = self.client.batch_get_item().request_items(table, wanted);
            let mut answer = request.send().await.map_err(failed)?;
            let items = answer.responses.as_mut().and_then(|items| items.remove(table));
            let before = found.len();
            for item in items.unwrap_or_default() {
                if let (Some(pk), Some(sk)) = (text(&item, "pk"), text(&item, "sk")) {
                    found.insert((pk, sk), item);
                }
            }
            let left = answer.unprocessed_keys.and_then(|mut keys| keys.remove(table));
            missing = left.map(|left| left.keys).unwrap_or_default();
            attempt = if found.len() > before { 0 } else { attempt + 1 };
            if attempt >= MAX_ATTEMPTS && !missing.is_empty() {
                return Err(Error::unavailable("the table reads too slowly"));
            }
            if attempt > 0 && !missing.is_empty() {
                let pause = PAUSE_MS << attempt;
                let pause = rand::rng().random_range(pause..pause * 2);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        }
        let items = keys
            .iter()
            .map(|key| found.remove(&(key.pk.clone(), key.sk.clone())));
        items.map(|found| found.map(item).transpose()).collect()
    }
}

fn text(item: &Attributes, name: &str) -> Option<String> {
    item.get(name)
        .and_then(|value: &AttributeValue| value.as_s().ok())
        .cloned()
}
