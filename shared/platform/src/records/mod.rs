//! Stores records: one interface to the storage service ([`store`]), one module for keys, one repository per
//! file.
//!
//! A repository takes the tenant first in every method. Its verbs: `find` (None if missing), `get` (404 if
//! missing), `list`, `insert` (refused if present), `save` (refused if the version is not the expected one),
//! `remove`.

pub mod api_keys;
pub mod audit;
pub mod channels;
mod current_runs;
pub mod dashboards;
pub mod deliveries;
mod delivery_status;
mod entries;
pub mod events;
pub mod import_jobs;
pub mod ingest_counts;
pub mod interactions;
mod kept_events;
pub mod keys;
pub mod listeners;
pub mod listing_shards;
pub mod logs;
pub mod process_secrets;
pub mod processes;
pub mod prompts;
mod run_listing;
mod run_place;
pub mod run_removal;
mod run_updates;
pub mod runs;
pub mod schema;
pub mod store;
mod store_versions;
pub mod stores;
pub mod subscriptions;
mod table;

pub use entries::{MAX_ENTRIES, SetState};
pub use store::{Changes, Condition, Key, Order, Position, Query, Written};
pub use table::{Guard, Outcome, Rows, Table, Transaction};

/// Stores JSON of any depth as text: an item itself is limited to 32 levels, and its numbers to 38 digits.
pub(crate) mod json_text {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serde_json::to_string(value)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
