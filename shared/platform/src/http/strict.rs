//! Reads JSON as strictly as the contract defines it.
//!
//! Serde's derived readers accept an array of fields where an object belongs, and report a wrong type in
//! place of an enum's name as a syntax error; free JSON keeps the last of two equal keys. Such input is a
//! mistake of the caller, so it is rejected with a clear error.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

/// A value that is read only from an object.
#[derive(Debug, Default)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// An object whose fields are all known: a field that is none of them would do nothing, silently.
pub trait Fields {
    const KNOWN: &'static [&'static str];

    /// Returns what to do about an unknown field, where its name tells.
    fn advice(field: &str) -> Option<String>;
}

/// A value that is read only from an object without unknown fields.
#[derive(Debug, Default, JsonSchema)]
#[serde(transparent)]
pub struct Only<T>(pub T);

impl<'de, T: Deserialize<'de> + Fields> Deserialize<'de> for Only<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + Fields> Visitor<'de> for OnlyVisitor<T> {
            type Value = Only<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let known = KnownFields::<A, T> { map, of: PhantomData };
                T::deserialize(MapAccessDeserializer::new(known)).map(Only)
            }
        }

        deserializer.deserialize_map(OnlyVisitor(PhantomData))
    }
}

/// Stops at the first unknown field.
struct KnownFields<A, T> {
    map: A,
    of: PhantomData<T>,
}

impl<'de, A: MapAccess<'de>, T: Fields> MapAccess<'de> for KnownFields<A, T> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(field) = self.map.next_key::<String>()? else {
            return Ok(None);
        };
        if !T::KNOWN.contains(&field.as_str()) {
            let mut known = T::KNOWN.iter();
            let advice = match known.find(|known| known.eq_ignore_ascii_case(&field)) {
                Some(known) => format!("write it as '{known}', in lower case"),
                None => T::advice(&field)
                    .unwrap_or_else(|| format!("the fields here are {}", T::KNOWN.join(", "))),
            };
            return Err(A::Error::custom(format_args!(
                "unknown field '{field}': {advice}"
            )));
        }
        let key = StrDeserializer::<A::Error>::new(&field);
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// For `deserialize_with`, together with `default`: distinguishes null, which removes a value, from an
/// omitted field.
pub fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// [`given`] for any JSON value.
pub fn given_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Value>>, D::Error> {
    optional_json(deserializer).map(Some)
}

/// For `deserialize_with`, together with `default`: one object with free keys, if the field is given.
pub fn given_json_object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    json_object(deserializer).map(Some)
}

/// For `deserialize_with`, together with `default`: an array of objects, if the field is given.
pub fn given_objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    objects(deserializer).map(Some)
}

/// Sets a field of a record to the value of a request, if the value is given.
pub fn set<T: Clone>(field: &mut T, given: &Option<T>) {
    if let Some(value) = given {
        field.clone_from(value);
    }
}

/// For `deserialize_with`: one object.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// For `deserialize_with`, together with `default`: one object, or null.
pub fn optional_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|Object(value)| value))
}

/// For `deserialize_with`: an array of objects.
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let list = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(list.into_iter().map(|Object(value)| value).collect())
}

/// For `deserialize_with`: an object whose values are objects; a repeated key is rejected.
pub fn object_of_objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct MapVisitor<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for MapVisitor<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = BTreeMap::new();
            while let Some(key) = map.next_key::<String>()? {
                let Object(value) = map.next_value()?;
                if found.contains_key(&key) {
                    return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
                }
                found.insert(key, value);
            }
            Ok(found)
        }
    }

    deserializer.deserialize_map(MapVisitor(PhantomData))
}

/// For `deserialize_with`: an enum by its name.
pub fn name<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct NameVisitor<T>(PhantomData<T>);

    impl<T: DeserializeOwned> Visitor<'_> for NameVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            T::deserialize(StrDeserializer::new(text))
        }
    }

    deserializer.deserialize_str(NameVisitor(PhantomData))
}

/// For `deserialize_with`, together with `default`: an enum by its name, or null.
pub fn optional_name<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Name<T>(T);

    impl<'de, T: DeserializeOwned> Deserialize<'de> for Name<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            name(deserializer).map(Name)
        }
    }

    Ok(Option::<Name<T>>::deserialize(deserializer)?.map(|Name(value)| value))
}

/// Free JSON without repeated keys in an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(pub Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(Json)
    }
}

/// For `deserialize_with`, together with `default`: free JSON, or null.
pub fn optional_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Ok(Option::<Json>::deserialize(deserializer)?.map(|Json(value)| value))
}

/// For `deserialize_with`, together with `default`: an object of free JSON, or null for an empty one.
pub fn json_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    match optional_json(deserializer)? {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(D::Error::custom("invalid type: expected an object")),
    }
}

struct JsonVisitor;

impl<'de> DeserializeSeed<'de> for JsonVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(JsonVisitor)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(JsonVisitor)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate field `{key}`")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::json::parse;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its reading is tested")]
    struct Inner {
        a: u32,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        One,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its reading is tested")]
    struct Outer {
        #[serde(default, deserialize_with = "objects")]
        list: Vec<Inner>,
        #[serde(default, deserialize_with = "object_of_objects")]
        map: BTreeMap<String, Inner>,
        #[serde(default, deserialize_with = "optional_name")]
        kind: Option<Kind>,
        #[serde(default, deserialize_with = "optional_json")]
        free: Option<Value>,
    }

    fn refusal(body: &str) -> String {
        parse::<Object<Outer>>(body.as_bytes())
            .unwrap_err()
            .message()
            .to_owned()
    }

    #[test]
    fn an_array_is_no_object() {
        assert!(
            parse::<Object<Outer>>(br#"{"list":[{"a":1}],"map":{"x":{"a":1}},"kind":"one","free":[1]}"#)
                .is_ok()
        );
        assert!(refusal("[[],{}]").contains("invalid type: sequence, expected an object"));
        assert!(
            refusal(r#"{"list":[[1]]}"#).contains("$.list[0]: invalid type: sequence, expected an object")
        );
        assert!(
            refusal(r#"{"map":{"x":[1]}}"#).contains("$.map.x: invalid type: sequence, expected an object")
        );
    }

    #[test]
    fn an_enum_is_a_name() {
        for body in [
            r#"{"kind":7}"#,
            r#"{"kind":true}"#,
            r#"{"kind":{"one":null}}"#,
            r#"{"kind":[]}"#,
        ] {
            let refusal = refusal(body);
            assert!(
                refusal.contains("$.kind: invalid type") && refusal.contains("expected a string"),
                "{refusal}"
            );
        }
        assert!(refusal(r#"{"kind":"two"}"#).contains("$.kind: unknown variant `two`, expected `one`"));
        assert!(parse::<Object<Outer>>(br#"{"kind":null}"#).is_ok());
    }

    impl Fields for Inner {
        const KNOWN: &'static [&'static str] = &["a"];

        fn advice(field: &str) -> Option<String> {
            (field == "b").then(|| "write it elsewhere".to_owned())
        }
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let refusal = |body: &str| {
            parse::<Only<Inner>>(body.as_bytes())
                .unwrap_err()
                .message()
                .to_owned()
        };
        assert!(parse::<Only<Inner>>(br#"{"a":1}"#).is_ok());
        for (body, expected) in [
            (
                r#"{"a":1,"A":2}"#,
                "unknown field 'A': write it as 'a', in lower case",
            ),
            (r#"{"a":1,"b":2}"#, "unknown field 'b': write it elsewhere"),
            (r#"{"a":1,"c":2}"#, "unknown field 'c': the fields here are a"),
            (r#"{"a":1,"a":2}"#, "duplicate field `a`"),
        ] {
            let refusal = refusal(body);
            assert!(refusal.contains(expected), "{refusal}");
        }
    }

    #[test]
    fn a_key_occurs_once() {
        assert!(refusal(r#"{"free":{"b":[{"a":1,"a":2}]}}"#).contains("duplicate field `a`"));
        assert!(refusal(r#"{"map":{"x":{"a":1},"x":{"a":2}}}"#).contains("duplicate field `x`"));
    }
}
