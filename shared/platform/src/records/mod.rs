//! Stores records: one interface to the storage service ([`store`]), tables and transactions over it, and one
//! module for keys. Each domain has its repositories in a module `records` of its own crate; here are those
//! that every request writes: audit records and the heads of logs.
//!
//! A repository takes the tenant first in every method. Its verbs: `find` (None if missing), `get` (404 if
//! missing), `list`, `insert` (refused if present), `save` (refused if the version is not the expected one),
//! `remove`.

pub mod audit;
pub mod keys;
pub mod logs;
pub mod schema;
pub mod store;
mod table;

pub use store::{Changes, Condition, Key, Order, Position, Query, Written};
pub use table::{Guard, Outcome, Rows, Table, Transaction};

/// Stores JSON of any depth as text: an item itself is limited to 32 levels, and its numbers to 38 digits.
pub mod json_text {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::to_string(value)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }

    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
