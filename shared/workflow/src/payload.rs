//! What a workflow takes, gives and passes on: any JSON value, kept as the text that it came in.
//!
//! A large payload is kept beside the records, in the object store, and its place is written instead (a *claim check*), so
//! that no record comes near the size that the table takes.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::failure::Failure;

/// Most bytes of one payload as JSON: what an activity returns, a signal carries, a run begins with. As Temporal's blob limit.
pub const MAX_PAYLOAD_BYTES: usize = 2 * 1_024 * 1_024;

/// Payloads of more bytes are kept in the object store: several of them fit into one record of 400 KB.
pub const CLAIM_CHECK_BYTES: usize = 100_000;

/// Where a large payload is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPayload {
    /// Its key in the object store.
    pub key: String,
    /// Its size.
    pub bytes: u64,
}

/// A JSON value, or the place where it is kept.
#[derive(Clone, Default)]
pub struct Payload {
    value: Option<Arc<RawValue>>,
    stored: Option<Arc<StoredPayload>>,
}

impl Payload {
    /// JSON `null`.
    pub fn null() -> Self {
        Self::from_raw(RawValue::NULL.to_owned())
    }

    /// The JSON of a value. A failure where it has none, such as a map whose keys are no texts, and where it is too large.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        let raw = to_raw_value(value).map_err(|error| {
            Failure::new(
                "InvalidPayload",
                format!("The value cannot be written as JSON: {error}."),
            )
        })?;
        match raw.get().len() {
            0..=MAX_PAYLOAD_BYTES => Ok(Self::from_raw(raw)),
            bytes => Err(too_large(bytes)),
        }
    }

    /// A value that is JSON already.
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self {
            value: Some(Arc::from(raw)),
            stored: None,
        }
    }

    /// A value that is kept elsewhere.
    pub fn from_stored(stored: StoredPayload) -> Self {
        Self {
            value: None,
            stored: Some(Arc::new(stored)),
        }
    }

    /// Reads the value. A failure where it does not have the shape of `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(self.json()).map_err(|error| {
            Failure::new(
                "InvalidPayload",
                format!("The value is not as the code reads it: {error}."),
            )
        })
    }

    /// The value as JSON; `null` for one that is kept elsewhere and was not fetched.
    pub fn json(&self) -> &str {
        self.value.as_deref().map_or("null", RawValue::get)
    }

    /// The value as a tree.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(self.json()).unwrap_or_default()
    }

    /// Bytes of the value as JSON.
    pub fn bytes(&self) -> usize {
        match &self.stored {
            Some(stored) => usize::try_from(stored.bytes).unwrap_or(usize::MAX),
            None => self.json().len(),
        }
    }

    /// Whether it is JSON `null`.
    pub fn is_null(&self) -> bool {
        self.stored.is_none() && self.json() == "null"
    }

    /// Where it is kept, if elsewhere.
    pub fn stored(&self) -> Option<&StoredPayload> {
        self.stored.as_deref()
    }

    /// Whether the value itself is at hand.
    pub fn is_fetched(&self) -> bool {
        self.value.is_some()
    }

    /// From now on it is known to be kept there as well; what is at hand stays so.
    pub fn set_stored(&mut self, stored: StoredPayload) {
        self.stored = Some(Arc::new(stored));
    }

    /// The value of one that is kept elsewhere.
    pub fn set_fetched(&mut self, raw: Box<RawValue>) {
        self.value = Some(Arc::from(raw));
    }
}

fn too_large(bytes: usize) -> Failure {
    Failure::permanent(
        "PayloadTooLarge",
        format!(
            "The value has {bytes} bytes; a payload has at most {MAX_PAYLOAD_BYTES}. Keep it elsewhere and pass its place on."
        ),
    )
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        match (&self.stored, &other.stored) {
            (None, None) => self.json() == other.json(),
            (one, another) => one == another,
        }
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.stored {
            Some(stored) => write!(f, "<{} bytes at {}>", stored.bytes, stored.key),
            None => f.write_str(self.json()),
        }
    }
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    value: Option<Box<RawValue>>,
    #[serde(default)]
    stored: Option<StoredPayload>,
}

#[derive(Serialize)]
struct Writing<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<&'a StoredPayload>,
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Writing {
            value: self.value.as_deref().filter(|_| self.stored.is_none()),
            stored: self.stored.as_deref(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let missing = written.value.is_none() && written.stored.is_none();
        Ok(Self {
            // serde reads a `null` that is there as a value that is not.
            value: written
                .value
                .or_else(|| missing.then(|| RawValue::NULL.to_owned()))
                .map(Arc::from),
            stored: written.stored.map(Arc::new),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_written_and_read_as_it_was() {
        for json in [
            "null",
            "1",
            "\"a\"",
            "{\"b\":1, \"a\":[2.50]}",
            "123456789012345678901234567890",
        ] {
            let payload = Payload::from_raw(RawValue::from_string(json.to_owned()).unwrap());
            let text = serde_json::to_string(&payload).unwrap();
            let read: Payload = serde_json::from_str(&text).unwrap();
            assert_eq!(read.json(), json);
            assert_eq!(read, payload);
        }
    }

    #[test]
    fn a_stored_payload_is_written_as_its_place() {
        let mut payload = Payload::of("large").unwrap();
        payload.set_stored(StoredPayload {
            key: "k".to_owned(),
            bytes: 7,
        });
        let text = serde_json::to_string(&payload).unwrap();
        assert_eq!(text, r#"{"stored":{"key":"k","bytes":7}}"#);
        assert_eq!(payload.json(), "\"large\"");
        assert!(!serde_json::from_str::<Payload>(&text).unwrap().is_fetched());
    }
}
