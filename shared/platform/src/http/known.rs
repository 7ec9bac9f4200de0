//! Refuses an update of which no field is known: it would make a version without a change that its caller
//! asked for.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A value that is read only from an object with a known field, or from an empty one.
#[derive(Debug, Default, JsonSchema)]
#[serde(transparent)]
pub struct SomeKnown<T>(pub T);

impl<'de, T: Deserialize<'de> + JsonSchema> Deserialize<'de> for SomeKnown<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + JsonSchema> Visitor<'de> for ObjectVisitor<T> {
            type Value = SomeKnown<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let fields = RefCell::default();
                let noted = Noted { map, fields: &fields };
                let value = T::deserialize(MapAccessDeserializer::new(noted))?;
                check::<T, A::Error>(&fields.into_inner())?;
                Ok(SomeKnown(value))
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

fn check<T: JsonSchema, E: Error>(fields: &[String]) -> Result<(), E> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let properties = schema
        .get("properties")
        .and_then(|properties| properties.as_object());
    let known: Vec<_> = properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    if fields.is_empty() || fields.iter().any(|field| known.contains(&field.as_str())) {
        return Ok(());
    }
    let unknown: Vec<_> = fields.iter().map(|field| format!("'{field}'")).collect();
    Err(E::custom(format_args!(
        "unknown field {}: nothing would be changed; the fields here are {}",
        unknown.join(", "),
        known.join(", ")
    )))
}

/// Notes the fields.
struct Noted<'a, A> {
    map: A,
    fields: &'a RefCell<Vec<String>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Noted<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(field) = self.map.next_key::<String>()? else {
            return Ok(None);
        };
        let key = seed.deserialize(StrDeserializer::<A::Error>::new(&field));
        self.fields.borrow_mut().push(field);
        key.map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json::parse;

    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Update {
        name: Option<String>,
        #[serde(rename = "inputSchema")]
        input_schema: Option<String>,
    }

    #[test]
    fn update_with_unknown_fields_alone_is_refused_by_their_names() {
        let read = |body: &str| parse::<SomeKnown<Update>>(body.as_bytes());
        for body in [
            "{}",
            r#"{"name":"a","x":1}"#,
            r#"{"inputSchema":"a"}"#,
            r#"{"name":null}"#,
        ] {
            assert!(read(body).is_ok(), "{body}");
        }
        let SomeKnown(update) = read(r#"{"name":"a","inputSchema":"b"}"#).unwrap();
        assert_eq!(
            (update.name.as_deref(), update.input_schema.as_deref()),
            (Some("a"), Some("b"))
        );
        for body in [r#"{"Name":1,"x":2}"#, r#"{"input_schema":1}"#] {
            let refusal = read(body).unwrap_err();
            assert!(
                refusal.message().contains("the fields here are")
                    && refusal.message().contains("inputSchema"),
                "{}",
                refusal.message()
            );
        }
        assert!(
            read(r#"{"Name":1,"x":2}"#)
                .unwrap_err()
                .message()
                .contains("'Name', 'x'")
        );
    }
}
