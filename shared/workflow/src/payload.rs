//! Holds inputs, results and messages: any JSON value, kept as its original text.
//!
//! A large payload is kept in the object store and the record holds a reference (a *claim check*), so that no
//! record comes near the size limit of an item.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::failure::Failure;

/// Upper limit of one payload in bytes of JSON; Temporal's blob limit.
pub const MAX_PAYLOAD_BYTES: usize = 2 * 1_024 * 1_024;

/// Larger payloads are kept in the object store: several payloads must fit into one record of 400 KB.
pub const CLAIM_CHECK_BYTES: usize = 100_000;

/// Reference to a large payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPayload {
    pub key: String,
    pub bytes: u64,
}

/// A JSON value, a reference to one, or both.
#[derive(Clone, Default)]
pub struct Payload {
    value: Option<Arc<RawValue>>,
    stored: Option<Arc<StoredPayload>>,
}

impl Payload {
    pub fn null() -> Self {
        Self::from_raw(RawValue::NULL.to_owned())
    }

    /// Serializes a value. Fails if it has no JSON, such as a map with keys that are not text, or is too
    /// large.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
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

    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self {
            value: Some(Arc::from(raw)),
            stored: None,
        }
    }

    /// Deserializes the value; fails if it does not have the shape of `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(self.json()).map_err(|error| {
            Failure::new(
                "InvalidPayload",
                format!(
                    "The value is not as the code reads it: {}.",
                    without_value(&error)
                ),
            )
        })
    }

    /// Returns the JSON text; `null` for a reference that was not fetched.
    pub fn json(&self) -> &str {
        self.value.as_deref().map_or("null", RawValue::get)
    }

    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(self.json()).unwrap_or_default()
    }

    /// Size as JSON.
    pub fn bytes(&self) -> usize {
        match &self.stored {
            Some(stored) => usize::try_from(stored.bytes).unwrap_or(usize::MAX),
            None => self.json().len(),
        }
    }

    pub fn is_null(&self) -> bool {
        self.stored.is_none() && self.json() == "null"
    }

    /// Returns the reference, if the value is in the object store.
    pub fn stored(&self) -> Option<&StoredPayload> {
        self.stored.as_deref()
    }

    /// Whether the value itself is in memory.
    pub fn is_fetched(&self) -> bool {
        self.value.is_some()
    }

    /// Adds the reference; a value in memory stays there.
    pub fn set_stored(&mut self, stored: StoredPayload) {
        self.stored = Some(Arc::new(stored));
    }

    /// Adds the value to a reference.
    pub fn set_fetched(&mut self, raw: Box<RawValue>) {
        self.value = Some(Arc::from(raw));
    }
}

/// Describes a fault without the value at fault: a failure is told to more readers than its run.
fn without_value(error: &serde_json::Error) -> String {
    /// Beginnings of serde's own messages, all of which quote the value. What was expected comes last.
    const QUOTING: [&str; 5] = [
        "invalid type",
        "invalid value",
        "invalid length",
        "unknown variant",
        "unknown field",
    ];
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&place).unwrap_or(&text);
    // A name of the code's own.
    if text.starts_with("missing field") {
        return format!("{text}{place}");
    }
    let kind = QUOTING.into_iter().find(|kind| text.starts_with(kind));
    let is_of_none = text.ends_with("there are no fields") || text.ends_with("there are no variants");
    let expected = text.rsplit_once(", expected ").filter(|_| !is_of_none);
    match (kind, expected) {
        (Some(kind), Some((_, expected))) => format!("{kind}, expected {expected}{place}"),
        (Some(kind), None) => format!("{kind}{place}"),
        (None, _) => format!("it has another form{place}"),
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
struct StoredForm {
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
        let written = StoredForm::deserialize(deserializer)?;
        let missing = written.value.is_none() && written.stored.is_none();
        Ok(Self {
            // serde reads an explicit `null` as a missing value.
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
    fn a_fault_of_a_value_does_not_quote_it() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only its shape is read")]
        struct Shape {
            kind: Option<Kind>,
            count: u8,
            none: Option<NoFields>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Kind {
            One,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct NoFields {}
        for (json, fault) in [
            (r#"{"count":"secret"}"#, "invalid type, expected u8 at"),
            (
                r#"{"count":"a, expected secret"}"#,
                "invalid type, expected u8 at",
            ),
            (r#"{"count":777}"#, "invalid value, expected u8 at"),
            (
                r#"{"kind":"secret","count":1}"#,
                "unknown variant, expected `one` at",
            ),
            (
                r#"{"secret":1,"count":1}"#,
                "unknown field, expected one of `kind`, `count`, `none` at",
            ),
            (
                r#"{"none":{"x, expected secret":1},"count":1}"#,
                "unknown field at",
            ),
            (r#"{}"#, "missing field `count` at"),
        ] {
            let payload = Payload::from_raw(RawValue::from_string(json.to_owned()).unwrap());
            let message = payload.read::<Shape>().unwrap_err().message;
            assert!(
                message.contains(fault) && !message.contains("secret"),
                "{json}: {message}"
            );
            assert!(message.contains("at line 1 column"), "{json}: {message}");
        }
    }

    #[test]
    fn a_stored_payload_is_written_as_its_place() {
        let mut payload = Payload::from_value("large").unwrap();
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
