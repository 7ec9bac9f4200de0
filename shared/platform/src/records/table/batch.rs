//! Reads of several items at once.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use rand::RngExt as _;
use serde::de::DeserializeOwned;

use super::{Item, Key, Table, failed, read};
use crate::error::{Error, Result};

/// Attempts without a further item: the SDK does not repeat what a throttled read left out.
const MAX_ATTEMPTS: u32 = 6;
/// Half of the first pause after an attempt without an item, in milliseconds. Each next pause is twice as
/// long.
const PAUSE_MS: u64 = 25;

impl Table {
    /// The records at `keys` that are in this index now, in the order of the keys; None for the others.
    /// Reads consistently, up to 100 keys, none of them twice.
    pub(crate) async fn find_in_index<T: DeserializeOwned>(
        &self,
        keys: &[Key],
        index: &str,
    ) -> Result<Vec<Option<T>>> {
        let mut items = self.items(keys).await?;
        let in_index = format!("{index}pk");
        let records = keys.iter().map(|key| {
            let item = items.remove(&(key.pk.clone(), key.sk.clone()));
            let item = item.filter(|item| item.contains_key(&in_index));
            item.map(read).transpose()
        });
        records.collect()
    }

    async fn items(&self, keys: &[Key]) -> Result<HashMap<(String, String), Item>> {
        let mut missing: Vec<Item> = keys.iter().map(Key::attributes).collect();
        let mut found = HashMap::new();
        let mut attempt = 0;
        while !missing.is_empty() {
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(missing))
                .consistent_read(true)
                .build()
                .map_err(Error::internal)?;
            let request = self.client.batch_get_item().request_items(&*self.name, wanted);
            let mut answer = request.send().await.map_err(failed)?;
            let items = answer
                .responses
                .as_mut()
                .and_then(|items| items.remove(&*self.name));
            let before = found.len();
            for item in items.unwrap_or_default() {
                if let (Some(pk), Some(sk)) = (text(&item, "pk"), text(&item, "sk")) {
                    found.insert((pk, sk), item);
                }
            }
            let left = answer
                .unprocessed_keys
                .and_then(|mut keys| keys.remove(&*self.name));
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
        Ok(found)
    }
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name)
        .and_then(|value: &AttributeValue| value.as_s().ok())
        .cloned()
}
