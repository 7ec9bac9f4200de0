//! Builds the parts of an event from the body that an external sender sent.
//!
//! The body's own fields come first, then the values that the channel's transform finds in it, then the
//! channel's defaults.

use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::envelope::{PAYLOAD, RawObject, check_name, is_name, raw};
use crate::path;

/// Action where neither the body nor the channel has one.
pub const DEFAULT_ACTION: &str = "received";
/// Resource type where neither the body nor the channel has one.
pub const DEFAULT_RESOURCE_TYPE: &str = "external_event";
/// Maximum length of an idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 1_000;
/// Numbers from this one on are milliseconds since the Unix epoch, not seconds: seconds reach it in the year
/// 5138.
const FIRST_MILLIS: f64 = 1e11;

/// Paths to the parts of an event in the body of an external system, such as `commits.0.id`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transform {
    /// Path to the text that becomes the event's action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_path: Option<String>,
    /// Path to the text that becomes the event's resource type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type_path: Option<String>,
    /// Path to the text or number that becomes the event's resource id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id_path: Option<String>,
    /// Path to the text or number by which repeated events are recognized.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key_path: Option<String>,
    /// Path to the event's time: ISO 8601, or a number of seconds or milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp_path: Option<String>,
    /// Fields that the `details` of each event of the channel get.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub static_details: Map<String, Value>,
}

impl Transform {
    /// Fails with 400 for an invalid path.
    pub fn check(&self) -> Result<()> {
        for (name, path) in [
            ("action_path", &self.action_path),
            ("resource_type_path", &self.resource_type_path),
            ("resource_id_path", &self.resource_id_path),
            ("idempotency_key_path", &self.idempotency_key_path),
            ("timestamp_path", &self.timestamp_path),
        ] {
            if let Some(path) = path {
                path::check(&format!("transform.{name}"), path)?;
            }
        }
        Ok(())
    }
}

/// Settings of a channel for its events.
#[derive(Clone, Copy, Debug)]
pub struct Defaults<'a> {
    pub action: Option<&'a str>,
    pub resource_type: Option<&'a str>,
    /// None for a channel whose senders write the fields of the contract.
    pub transform: Option<&'a Transform>,
}

/// Parts of an event that the external sender determines.
#[derive(Debug)]
pub struct Incoming {
    pub action: String,
    pub resource_type: String,
    /// Resource id, where the body has one.
    pub resource_id: Option<String>,
    /// Key that identifies repeated events.
    pub idempotency_key: Option<String>,
    /// Time of the event, where the body has one.
    pub timestamp: Option<UtcTime>,
    /// Details, with the whole body.
    pub details: RawObject,
}

/// Reads the parts of an event from a body. `text` is the original body and `body` its parsed form. Fails
/// with 400 for a field of the contract with a value of another type; with a transform, such a field belongs
/// to the external system and is ignored.
pub fn read(text: &str, body: &Map<String, Value>, defaults: Defaults<'_>) -> Result<Incoming> {
    let is_foreign = defaults.transform.is_some();
    let field = |name: &str| string_field(body, name, is_foreign);
    let whole = Value::Object(body.clone());
    let extracted = |path: fn(&Transform) -> &Option<String>| {
        let path = path(defaults.transform?).as_deref()?;
        as_text(path::find(&whole, path)?)
    };
    // An invalid name is ignored, because a sender that does not know this service cannot correct it.
    let extracted_name = |path| extracted(path).filter(|text| is_name(text));
    let named = |own: Option<String>, found: Option<String>, default: Option<&str>, last: &str| {
        own.or(found)
            .or_else(|| default.map(str::to_owned))
            .unwrap_or_else(|| last.to_owned())
    };
    let incoming = Incoming {
        action: named(
            field("action")?,
            extracted_name(|transform| &transform.action_path),
            defaults.action,
            DEFAULT_ACTION,
        ),
        resource_type: named(
            field("resource_type")?,
            extracted_name(|transform| &transform.resource_type_path),
            defaults.resource_type,
            DEFAULT_RESOURCE_TYPE,
        ),
        resource_id: field("resource_id")?
            .or_else(|| extracted_name(|transform| &transform.resource_id_path)),
        idempotency_key: key_field(body, is_foreign)?
            .or_else(|| extracted(|transform| &transform.idempotency_key_path)),
        timestamp: match time_field(body, is_foreign)? {
            Some(time) => Some(time),
            None => defaults
                .transform
                .and_then(|transform| transform.timestamp_path.as_deref())
                .and_then(|path| path::find(&whole, path))
                .and_then(as_time),
        },
        details: details(text, body, defaults.transform)?,
    };
    check_name("action", &incoming.action)?;
    check_name("resource_type", &incoming.resource_type)?;
    if let Some(id) = &incoming.resource_id {
        check_name("resource_id", id)?;
    }
    Ok(incoming)
}

/// Merges the details of the body over those of the channel, and the whole body over both.
fn details(text: &str, body: &Map<String, Value>, transform: Option<&Transform>) -> Result<RawObject> {
    let mut details = RawObject::new();
    for (name, value) in transform
        .into_iter()
        .flat_map(|transform| &transform.static_details)
    {
        details.insert(name.clone(), raw(value)?);
    }
    match body.get("details") {
        Some(Value::Object(_)) => {
            // Parsed from the text, so that numbers stay as written.
            let parts: RawObject = serde_json::from_str(text).map_err(Error::internal)?;
            let given = parts.get("details").map_or("{}", |given| given.get());
            details.extend(serde_json::from_str::<RawObject>(given).map_err(Error::internal)?);
        }
        None | Some(Value::Null) => {}
        Some(_) if transform.is_some() => {}
        Some(_) => return Err(Error::invalid("The field 'details' must be an object.")),
    }
    let whole = serde_json::from_str(text).map_err(Error::internal)?;
    details.insert(PAYLOAD.to_owned(), whole);
    Ok(details)
}

fn string_field(body: &Map<String, Value>, name: &str, is_foreign: bool) -> Result<Option<String>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_foreign && !is_name(text) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) if is_foreign => Ok(None),
        Some(_) => Err(Error::invalid(format!("The field '{name}' must be a string."))),
    }
}

/// Returns the idempotency key of a body; None for an empty one.
fn key_field(body: &Map<String, Value>, is_foreign: bool) -> Result<Option<String>> {
    match body.get("idempotency_key") {
        // A key of an external system may be longer, because only its hash is stored.
        Some(Value::String(key)) if !is_foreign && key.len() > MAX_KEY_BYTES => Err(Error::invalid(format!(
            "The field 'idempotency_key' has at most {MAX_KEY_BYTES} bytes."
        ))),
        Some(Value::String(key)) => Ok(Some(key.clone()).filter(|key| !key.is_empty())),
        None | Some(Value::Null) => Ok(None),
        Some(_) if is_foreign => Ok(None),
        Some(_) => Err(Error::invalid("The field 'idempotency_key' must be a string.")),
    }
}

fn time_field(body: &Map<String, Value>, is_foreign: bool) -> Result<Option<UtcTime>> {
    let parsed = match body.get("timestamp") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.parse().map_err(|why| format!(" {why}.")),
        Some(_) => Err(" It is not a string.".to_owned()),
    };
    match parsed {
        Ok(time) => Ok(Some(time)),
        Err(_) if is_foreign => Ok(None),
        Err(why) => Err(Error::invalid(format!(
            "The field 'timestamp' must be an ISO 8601 time.{why}"
        ))),
    }
}

/// Returns the text of a value that can be part of a name: a text, a whole number of 64 bits or a boolean.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        // A number that is not exact here would stand for its neighbours too.
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Number(_) => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn as_time(value: &Value) -> Option<UtcTime> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => {
            let number = number.as_f64()?;
            let millis = if number.abs() < FIRST_MILLIS {
                number * 1_000.0
            } else {
                number
            };
            (millis.abs() < 1e15).then(|| UtcTime::from_millis(millis as i64))?
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read_with(body: &Value, defaults: Defaults<'_>) -> Result<Incoming> {
        let text = body.to_string();
        read(&text, body.as_object().unwrap(), defaults)
    }

    const NOTHING: Defaults<'_> = Defaults {
        action: None,
        resource_type: None,
        transform: None,
    };

    #[test]
    fn details_stay_as_they_were_written() {
        let text = r#"{"details":{"a":1.0,"b":1e3,"c":123456789012345678901},"x":[ ]}"#;
        let body: Value = serde_json::from_str(text).unwrap();
        let incoming = read(text, body.as_object().unwrap(), NOTHING).unwrap();
        let details = serde_json::to_string(&incoming.details).unwrap();
        assert_eq!(
            details,
            format!(r#"{{"a":1.0,"b":1e3,"c":123456789012345678901,"payload":{text}}}"#)
        );
    }

    #[test]
    fn only_exact_values_make_a_name() {
        let transform = Transform {
            resource_id_path: Some("id".to_owned()),
            idempotency_key_path: Some("key".to_owned()),
            ..Transform::default()
        };
        let defaults = Defaults {
            transform: Some(&transform),
            ..NOTHING
        };
        for (value, name) in [
            (json!("a"), Some("a")),
            (json!(7), Some("7")),
            (json!(-7), Some("-7")),
            (json!(true), Some("true")),
            (json!(u64::MAX), Some("18446744073709551615")),
            (json!(1.5), None),
            (json!(1e30), None),
            (json!(""), None),
            (json!(null), None),
            (json!([1]), None),
            (json!("x".repeat(500)), Some("x".repeat(500).as_str())),
        ] {
            let incoming = read_with(&json!({ "id": value, "key": value }), defaults).unwrap();
            assert_eq!(incoming.resource_id.as_deref(), name, "{value}");
            assert_eq!(incoming.idempotency_key.as_deref(), name, "{value}");
        }
        let empty = read_with(&json!({ "idempotency_key": "" }), NOTHING).unwrap();
        assert_eq!(empty.idempotency_key, None);
    }

    #[test]
    fn invalid_names_of_foreign_senders_are_ignored() {
        let transform = Transform {
            action_path: Some("deep.action".to_owned()),
            resource_id_path: Some("deep.title".to_owned()),
            idempotency_key_path: Some("deep.key".to_owned()),
            ..Transform::default()
        };
        let defaults = Defaults {
            action: Some("default"),
            transform: Some(&transform),
            ..NOTHING
        };
        let (long, key) = ("x".repeat(501), "k".repeat(1_001));
        for (own, found) in [("a\nb", "c\td"), (long.as_str(), long.as_str())] {
            let body = json!({ "action": own, "resource_id": own, "deep": { "action": found, "title": found, "key": key } });
            let incoming = read_with(&body, defaults).unwrap();
            assert_eq!(
                (incoming.action.as_str(), incoming.resource_id),
                ("default", None)
            );
            // A key of any length is accepted, because only its hash is stored.
            assert_eq!(incoming.idempotency_key.as_deref(), Some(key.as_str()));
            assert!(read_with(&body, NOTHING).is_err());
        }
        let refusal = read_with(&json!({ "idempotency_key": key }), NOTHING).unwrap_err();
        assert_eq!(
            refusal.message(),
            "The field 'idempotency_key' has at most 1000 bytes."
        );
    }

    fn maybe(text: &'static str) -> impl Strategy<Value = Option<&'static str>> {
        prop::option::of(Just(text))
    }

    proptest! {
        /// The order is: the body's own field, the transform's value, the channel's default, the general
        /// default.
        #[test]
        fn the_order_is_that_of_the_contract(
            own in maybe("own"), found in maybe("found"), default in maybe("default"), has_path: bool, is_foreign: bool,
        ) {
            let mut body = json!({ "deep": [{}] });
            if let Some(own) = own {
                body["action"] = json!(own);
                body["resource_type"] = json!(own);
            }
            if let Some(found) = found {
                body["deep"][0]["name"] = json!(found);
            }
            let path = has_path.then(|| "deep.0.name".to_owned());
            let transform = Transform { action_path: path.clone(), resource_type_path: path, ..Transform::default() };
            let transform = (has_path || is_foreign).then_some(&transform);
            let incoming = read_with(&body, Defaults { action: default, resource_type: default, transform }).unwrap();
            let expected = own.or(found.filter(|_| has_path)).or(default);
            prop_assert_eq!(incoming.action, expected.unwrap_or(DEFAULT_ACTION));
            prop_assert_eq!(incoming.resource_type, expected.unwrap_or(DEFAULT_RESOURCE_TYPE));
        }

        /// For any body, the whole body is stored unchanged, and the parts are valid for an event.
        #[test]
        fn any_body_is_read_or_refused(action in "(?s).{0,8}|[a-z]{490,510}|[a-z]{1100}", number: i64, is_foreign: bool, kind in 0..4) {
            let odd = match kind { 0 => json!(action), 1 => json!(number), 2 => json!([action]), _ => json!(null) };
            let body = json!({ "action": odd, "resource_id": odd, "timestamp": odd, "details": odd, "idempotency_key": odd });
            let path = |name: &str| Some(name.to_owned());
            let transform = Transform {
                action_path: path("details"), resource_type_path: path("details"), resource_id_path: path("details"),
                idempotency_key_path: path("details"), timestamp_path: path("timestamp"), ..Transform::default()
            };
            let defaults = Defaults { transform: is_foreign.then_some(&transform), ..NOTHING };
            match read_with(&body, defaults) {
                Ok(incoming) => {
                    prop_assert_eq!(incoming.details[PAYLOAD].get(), body.to_string());
                    prop_assert!((1..=crate::envelope::MAX_NAME_BYTES).contains(&incoming.action.len()));
                }
                Err(refusal) => {
                    // A sender that does not know this service cannot correct a body, so it is never refused.
                    prop_assert!(!is_foreign, "{}", refusal.message());
                    prop_assert_eq!(refusal.status(), 400);
                }
            }
        }
    }
}
