//! Builds the parts of an event from the request of an external sender.
//!
//! The body's own fields come first, then the values that the channel's transform finds in the request, then
//! the attributes of a CloudEvent, then the channel's defaults.

use std::borrow::Cow;

use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::envelope::{CLOUD_EVENT, HEADERS, PAYLOAD, RawObject, is_name, raw};
use crate::sender::source::{self, as_text};
use crate::sender::{Fields, Item, Request};
use crate::sender_time::as_time;

/// Action where neither the body nor the channel has one.
pub const DEFAULT_ACTION: &str = "received";
/// Resource type where neither the body nor the channel has one.
pub const DEFAULT_RESOURCE_TYPE: &str = "external_event";
/// Most characters of a value that a warning shows.
const MAX_SHOWN: usize = 100;

/// Where the parts of an event are in the request of an external system: a path into the body, such as
/// `commits.0.id`, `$.commits[0].id` or `metadata['order.id']`; a header, as in `header:x-github-event`; a
/// parameter of the query, as in `query:kind`; a text with such values, as in
/// `{{ header:x-shopify-topic }}`; or several with ` | ` between, of which the first that is there counts.
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
    /// Path to the event's time: ISO 8601, RFC 2822, or a number of seconds, milliseconds, microseconds or
    /// nanoseconds since the Unix epoch, which may be a text.
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
                source::check(&format!("transform.{name}"), path)?;
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
    pub transform: Option<&'a Transform>,
    /// Names of the headers that the details keep, in lower case.
    pub headers: &'a [String],
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
    /// Details, with the whole body, the kept headers and the attributes of a CloudEvent.
    pub details: RawObject,
    /// What the sender said without effect.
    pub warnings: Vec<String>,
}

/// Reads the parts of an event from a request and one of its bodies. A field of the contract with a value of
/// another type belongs to the sender, and stays data: a sender that does not know this service cannot
/// correct its body.
pub fn read(request: Request<'_>, item: &Item, defaults: Defaults<'_>) -> Result<Incoming> {
    let fields = Fields {
        request,
        body: &item.value,
    };
    let body = item.value.as_object();
    let at = |path: fn(&Transform) -> &Option<String>| {
        let path = path(defaults.transform?).as_deref()?;
        source::find(path, fields)
    };
    let attribute = |name: &str| item.cloud_event.as_ref()?.get(name);
    let own = |name: &str| {
        body?
            .get(name)?
            .as_str()
            .map(str::to_owned)
            .filter(|text| is_name(text))
    };
    let named = |path, attribute_name: &str| {
        let text = at(path).and_then(|value| as_text(&value));
        let text = text.or_else(|| attribute(attribute_name).and_then(as_text));
        text.filter(|text| is_name(text))
    };
    let or_default = |text: Option<String>, default: Option<&str>, last: &str| {
        text.unwrap_or_else(|| default.unwrap_or(last).to_owned())
    };
    let body_value = |name: &str| body?.get(name).filter(|value| !value.is_null()).cloned();
    let own_time = body_value("timestamp");
    let other_time = at(|transform| &transform.timestamp_path).map(Cow::into_owned);
    let other_time = other_time.or_else(|| attribute("time").cloned());
    let timestamp = own_time
        .as_ref()
        .filter(|time| time.is_string())
        .and_then(as_time);
    let timestamp = timestamp.or_else(|| other_time.as_ref().and_then(as_time));
    let own_key = body_value("idempotency_key");
    let other_key = at(|transform| &transform.idempotency_key_path).map(Cow::into_owned);
    let other_key = other_key.or_else(|| {
        // Together they name a CloudEvent.
        let (source, id) = (attribute("source")?.as_str()?, attribute("id")?.as_str()?);
        Some(Value::String(format!("{source} {id}")))
    });
    // Of any length, because only its hash is stored.
    let idempotency_key = own_key.as_ref().and_then(as_text);
    let idempotency_key = idempotency_key.or_else(|| other_key.as_ref().and_then(as_text));
    let mut warnings = Vec::new();
    if let (None, Some(time)) = (&timestamp, own_time.or(other_time)) {
        warnings.push(format!(
            "The time {} is not understood, so the event has the time of its arrival. Send it as ISO 8601, such as \
             2026-01-31T12:00:00Z, as RFC 2822 or, where the channel's timestamp_path leads to it, as a Unix time.",
            shown(&time)
        ));
    }
    if let (None, Some(key)) = (&idempotency_key, own_key.or(other_key)) {
        warnings.push(format!(
            "The idempotency key {} is empty, or no text and no whole number of 64 bits, so a repeat is another event. Send it as a text.",
            shown(&key)
        ));
    }
    Ok(Incoming {
        action: or_default(
            own("action").or_else(|| named(|transform| &transform.action_path, "type")),
            defaults.action,
            DEFAULT_ACTION,
        ),
        resource_type: or_default(
            own("resource_type").or_else(|| named(|transform| &transform.resource_type_path, "source")),
            defaults.resource_type,
            DEFAULT_RESOURCE_TYPE,
        ),
        resource_id: own("resource_id").or_else(|| named(|transform| &transform.resource_id_path, "subject")),
        idempotency_key,
        timestamp,
        warnings,
        details: details(request, item, defaults)?,
    })
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(MAX_SHOWN).collect()
}

/// Merges the details of the body over those of the channel, and the body over both.
fn details(request: Request<'_>, item: &Item, defaults: Defaults<'_>) -> Result<RawObject> {
    let mut details = RawObject::new();
    let transform = defaults.transform.into_iter();
    for (name, value) in transform.flat_map(|transform| &transform.static_details) {
        details.insert(name.clone(), raw(value)?);
    }
    if let Some(Value::Object(_)) = item.value.get("details") {
        // Parsed from the text, so that numbers stay as written.
        let parts: RawObject = serde_json::from_str(item.raw.get()).map_err(Error::internal)?;
        let given = parts.get("details").map_or("{}", |given| given.get());
        details.extend(serde_json::from_str::<RawObject>(given).map_err(Error::internal)?);
    }
    let headers = defaults.headers.iter();
    let headers: Map<_, _> = headers
        .filter_map(|name| Some((name.clone(), Value::from(request.header(name)?))))
        .collect();
    if !headers.is_empty() {
        details.insert(HEADERS.to_owned(), raw(&headers)?);
    }
    if let Some(attributes) = &item.cloud_event {
        details.insert(CLOUD_EVENT.to_owned(), raw(attributes)?);
    }
    details.insert(PAYLOAD.to_owned(), item.raw.clone());
    Ok(details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::body::{Arrays, Body};
    use http::HeaderMap;
    use proptest::prelude::*;
    use serde_json::json;

    fn read_text(text: &str, defaults: Defaults<'_>) -> Result<Incoming> {
        let request = Request {
            method: "POST",
            url: "https://ingest.example/channel",
            headers: &HeaderMap::new(),
            body: text.as_bytes(),
        };
        let body = Body::read(request, 1_000_000, Arrays::Split)?;
        read(request, body.items.first().unwrap(), defaults)
    }

    fn read_with(body: &Value, defaults: Defaults<'_>) -> Result<Incoming> {
        read_text(&body.to_string(), defaults)
    }

    const NOTHING: Defaults<'_> = Defaults {
        action: None,
        resource_type: None,
        transform: None,
        headers: &[],
    };

    #[test]
    fn details_stay_as_they_were_written() {
        let text = r#"{"details":{"a":1.0,"b":1e3,"c":123456789012345678901},"x":[ ]}"#;
        let incoming = read_text(text, NOTHING).unwrap();
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
    fn fields_with_values_of_other_types_and_invalid_names_stay_data() {
        let transform = Transform {
            action_path: Some("deep.action".to_owned()),
            resource_id_path: Some("deep.title".to_owned()),
            idempotency_key_path: Some("deep.key".to_owned()),
            ..Transform::default()
        };
        let with_paths = Defaults {
            action: Some("default"),
            transform: Some(&transform),
            ..NOTHING
        };
        let (long, key) = ("x".repeat(501), "k".repeat(1_001));
        for value in [
            json!("a\nb"),
            json!(long),
            json!(""),
            json!({ "x": 1 }),
            json!(7),
            json!([]),
        ] {
            let body = json!({
                "action": value, "resource_id": value, "details": value, "timestamp": 1_700_000_000,
                "deep": { "action": value, "title": value, "key": key },
            });
            let incoming = read_with(&body, with_paths).unwrap();
            let is_number = value.is_number();
            let found = |text: &str| is_number.then(|| text.to_owned());
            let named = found("7").unwrap_or("default".to_owned());
            assert_eq!(
                (&incoming.action, &incoming.resource_id),
                (&named, &found("7")),
                "{value}"
            );
            // A key of any length is accepted, because only its hash is stored.
            assert_eq!(incoming.idempotency_key.as_deref(), Some(key.as_str()));
            let incoming = read_with(&body, NOTHING).unwrap();
            assert_eq!(
                (incoming.action.as_str(), incoming.resource_id, incoming.timestamp),
                (DEFAULT_ACTION, None, None)
            );
            assert_eq!(incoming.details[PAYLOAD].get(), body.to_string());
        }
        for (key, known) in [(json!(""), None), (json!(7), Some("7")), (json!({}), None)] {
            let incoming = read_with(&json!({ "idempotency_key": key }), NOTHING).unwrap();
            assert_eq!(incoming.idempotency_key.as_deref(), known);
        }
    }

    #[test]
    fn times_are_read_in_the_forms_that_senders_have() {
        let transform = Transform {
            timestamp_path: Some("at".to_owned()),
            ..Transform::default()
        };
        let defaults = Defaults {
            transform: Some(&transform),
            ..NOTHING
        };
        let time = "2023-11-14T22:13:20.123Z";
        for (value, expected) in [
            (json!(1_700_000_000), Some("2023-11-14T22:13:20Z")),
            (json!(1_700_000_000.123), Some(time)),
            (json!(1_700_000_000_123_u64), Some(time)),
            (json!(1_700_000_000_123_456_u64), Some(time)),
            (json!(1_700_000_000_123_456_789_u64), Some(time)),
            (json!("1700000000"), Some("2023-11-14T22:13:20Z")),
            (json!("1700000000.123456"), Some(time)),
            (json!(" 1700000000123 "), Some(time)),
            (
                json!("Tue, 14 Nov 2023 23:13:20 +0100"),
                Some("2023-11-14T22:13:20Z"),
            ),
            (json!("14 Nov 2023 22:13:20 GMT"), Some("2023-11-14T22:13:20Z")),
            (json!("2023-11-14T22:13:20.123Z"), Some(time)),
            (json!("2024"), None),
            (
                json!(1_730_812_862_378_000_000_u64),
                Some("2024-11-05T13:21:02.378Z"),
            ),
            (json!("1730812862378000000"), Some("2024-11-05T13:21:02.378Z")),
            (json!(0), None),
            (json!("2024-03-10T02:30:00+24:00"), None),
            (json!("2024-03-10T02:30:00+14:00"), Some("2024-03-09T12:30:00Z")),
            (json!(-1_700_000_000), Some("1916-02-18T01:46:40Z")),
            (json!("2024-03-10 02:30:00 UTC"), Some("2024-03-10T02:30:00Z")),
            (json!("2024-03-10 02:30:00 -0500"), Some("2024-03-10T07:30:00Z")),
            (json!("2024-03-09T24:00:00Z"), Some("2024-03-10T00:00:00Z")),
            (json!(2024), None),
            (json!(20_240_310), None),
            (json!(20_240_310_123_000_u64), None),
            (json!("20141030133525"), None),
            (json!("202403101230"), None),
            (json!("1e9"), None),
            (json!("1700000000.x"), None),
            (json!("inf"), None),
            (json!("NaN"), None),
            (json!(1e20), None),
            (json!("0000-12-31T23:59:59Z"), None),
            (json!(true), None),
        ] {
            let expected = expected.map(|time| time.parse::<UtcTime>().unwrap());
            let incoming = read_with(&json!({ "at": value }), defaults).unwrap();
            assert_eq!(incoming.timestamp, expected, "{value}");
            let own = expected.filter(|_| value.is_string());
            let incoming = read_with(&json!({ "timestamp": value }), NOTHING).unwrap();
            assert_eq!(incoming.timestamp, own, "{value}");
        }
    }

    fn maybe(text: &'static str) -> impl Strategy<Value = Option<&'static str>> {
        prop::option::of(Just(text))
    }

    proptest! {
        /// The order is: the body's own field, the transform's value, the channel's default, the general
        /// default.
        #[test]
        fn the_order_is_that_of_the_contract(
            own in maybe("own"), found in maybe("found"), default in maybe("default"), has_path: bool,
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
            let defaults = Defaults { action: default, resource_type: default, transform: Some(&transform), headers: &[] };
            let incoming = read_with(&body, defaults).unwrap();
            let expected = own.or(found.filter(|_| has_path)).or(default);
            prop_assert_eq!(incoming.action, expected.unwrap_or(DEFAULT_ACTION));
            prop_assert_eq!(incoming.resource_type, expected.unwrap_or(DEFAULT_RESOURCE_TYPE));
        }

        /// Any body is read: it is stored unchanged, and the parts are valid for an event.
        #[test]
        fn any_body_is_read(action in "(?s).{0,8}|[a-z]{490,510}|[a-z]{1100}", number: i64, has_paths: bool, kind in 0..4) {
            let odd = match kind { 0 => json!(action), 1 => json!(number), 2 => json!([action]), _ => json!(null) };
            let body = json!({ "action": odd, "resource_id": odd, "timestamp": odd, "details": odd, "idempotency_key": odd });
            let path = |name: &str| Some(name.to_owned());
            let transform = Transform {
                action_path: path("details"), resource_type_path: path("details"), resource_id_path: path("details"),
                idempotency_key_path: path("details"), timestamp_path: path("timestamp"), ..Transform::default()
            };
            let incoming = read_with(&body, Defaults { transform: has_paths.then_some(&transform), ..NOTHING }).unwrap();
            prop_assert_eq!(incoming.details[PAYLOAD].get(), body.to_string());
            for name in [Some(incoming.action), Some(incoming.resource_type), incoming.resource_id].into_iter().flatten() {
                prop_assert!(is_name(&name));
            }
        }
    }
}
