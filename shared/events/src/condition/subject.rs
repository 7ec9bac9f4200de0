//! Reads an event as the values of conditions, as JavaScript's `JSON.parse` does.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

use super::value::Value;

/// Maximum nesting depth of an event, which is that of serde_json.
const MAX_DEPTH: usize = 127;

pub(super) fn read(text: &str) -> Result<Value, Error> {
    let value = serde_json::from_str::<Parsed>(text).map(|parsed| parsed.0);
    value.or_else(|_| odd_value(text, MAX_DEPTH))
}

/// Reads what is JSON and that serde_json has no value for: numbers beyond a double, which JavaScript reads
/// as infinite, and half of a pair of surrogates.
fn odd_value(text: &str, depth: usize) -> Result<Value, Error> {
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| Error::custom("the event nests too deep"))?;
    match text.trim_start().bytes().next() {
        Some(b'{') => {
            let fields: HashMap<Units, &RawValue> = serde_json::from_str(text)?;
            let fields = fields.into_iter();
            let fields = fields.map(|(Units(name), value)| {
                Ok((String::from_utf16_lossy(&name), odd_value(value.get(), depth)?))
            });
            Ok(Value::object(fields.collect::<Result<_, Error>>()?))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            let items = items.into_iter().map(|item| odd_value(item.get(), depth));
            Ok(Value::whole_list(items.collect::<Result<_, Error>>()?))
        }
        Some(b'"') => serde_json::from_str(text).map(|Units(units)| Value::Text(units.into())),
        Some(b'-' | b'0'..=b'9') => Ok(Value::Number(text.trim().parse().map_err(Error::custom)?)),
        _ => serde_json::from_str::<Parsed>(text).map(|parsed| parsed.0),
    }
}

struct Parsed(Value);

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParsedVisitor)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        Ok(Parsed(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Parsed, E> {
        Ok(Parsed(Value::Bool(value)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Parsed, E> {
        Ok(Parsed(Value::Number(number as f64)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Parsed, E> {
        Ok(Parsed(Value::Number(number as f64)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Parsed, E> {
        Ok(Parsed(Value::Number(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Parsed, E> {
        Ok(Parsed(Value::text(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Parsed, A::Error> {
        let mut items = Vec::new();
        while let Some(Parsed(item)) = list.next_element()? {
            items.push(item);
        }
        Ok(Parsed(Value::whole_list(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, Parsed(value))) = map.next_entry()? {
            fields.insert(name, value);
        }
        Ok(Parsed(Value::object(fields)))
    }
}

/// A text in UTF-16, whose surrogates need not be pairs.
#[derive(PartialEq, Eq, Hash)]
struct Units(Vec<u16>);

impl<'de> Deserialize<'de> for Units {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(UnitsVisitor)
    }
}

struct UnitsVisitor;

impl Visitor<'_> for UnitsVisitor {
    type Value = Units;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Units, E> {
        Ok(Units(text.encode_utf16().collect()))
    }

    /// serde_json writes a lone surrogate in the three bytes that UTF-8 would have for it.
    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Units, E> {
        let (mut units, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
        while !rest.is_empty() {
            if let [0xED, high @ 0xA0..=0xBF, low, after @ ..] = rest {
                units.push(0xD000 | (u16::from(high & 0x3F) << 6) | u16::from(low & 0x3F));
                rest = after;
                continue;
            }
            let is_surrogate = |pair: &[u8]| matches!(pair, [0xED, 0xA0..=0xBF]);
            let end = rest.windows(2).position(is_surrogate).unwrap_or(rest.len());
            let (text, after) = rest.split_at(end);
            units.extend(String::from_utf8_lossy(text).encode_utf16());
            rest = after;
        }
        Ok(Units(units))
    }
}
