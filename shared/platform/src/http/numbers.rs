//! Reads an integer by its value and not by its notation: `10.0` and `1e1` are the integer 10. Refuses a
//! number that free JSON would round.
//!
//! Serde's readers refuse a fraction of zeros, and round digits that a double does not hold. This adapter
//! stands between a format and a type. It reads a number where the type asks for an integer, and where the
//! type takes any value; unparsed JSON, which keeps all digits, passes it by.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};

use super::inexact::Digits;

/// Most that every integer below is exact in a double: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// How the numbers of an input are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules<'r> {
    /// Whether numbers are texts, as in query parameters.
    pub are_texts: bool,
    /// The input, if numbers are refused that a double would have to hold and does not.
    pub exact: Option<&'r Digits<'r>>,
}

impl Rules<'_> {
    fn check<E: Error>(&self, number: f64) -> Result<(), E> {
        match self.exact.and_then(|digits| digits.inexact(number)) {
            Some(inexact) => Err(E::custom(inexact)),
            None => Ok(()),
        }
    }
}

/// A deserializer, a visitor or an access to parts, within which numbers are read by the rules.
pub struct Numbers<'r, T> {
    pub inner: T,
    pub rules: Rules<'r>,
}

impl<'r, T> Numbers<'r, T> {
    fn around<U>(&self, inner: U) -> Numbers<'r, U> {
        Numbers {
            inner,
            rules: self.rules,
        }
    }
}

/// Visits an integer.
struct Integer<'r, V>(Numbers<'r, V>);

impl<'de, V: Visitor<'de>> Integer<'_, V> {
    fn visit_whole<E: Error>(self, number: f64, shown: Unexpected<'_>) -> Result<V::Value, E> {
        self.0.rules.check(number)?;
        let is_whole = number.fract() == 0.0 && number.abs() < EXACT;
        let whole = is_whole.then(|| format!("{number:.0}").parse::<i64>().ok());
        match whole.flatten().map(|whole| (u64::try_from(whole), whole)) {
            Some((Ok(whole), _)) => self.0.inner.visit_u64(whole),
            Some((Err(_), whole)) => self.0.inner.visit_i64(whole),
            None => Err(E::invalid_type(shown, &self)),
        }
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Integer<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.inner.visit_u64(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.inner.visit_i64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.visit_whole(value, Unexpected::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        let shown = Unexpected::Str(text);
        if !self.0.rules.are_texts {
            return Err(E::invalid_type(shown, &self));
        }
        if let Ok(value) = text.parse() {
            return self.0.inner.visit_u64(value);
        }
        if let Ok(value) = text.parse() {
            return self.0.inner.visit_i64(value);
        }
        match serde_json::from_str::<f64>(text) {
            Ok(value) => self.visit_whole(value, shown),
            Err(_) => Err(E::invalid_value(shown, &self)),
        }
    }
}

/// Methods of a deserializer that are not about integers, with what they pass to the visitor's method.
macro_rules! forward {
    ($($method:ident($($argument:ident: $kind:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.around(visitor);
            self.inner.$method($($argument,)* visitor)
        }
    )*};
}

macro_rules! plain {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        }
    )*};
}

macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            let visitor = Integer(self.around(visitor));
            self.inner.deserialize_any(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Numbers<'_, D> {
    type Error = D::Error;

    integers! {
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
    }

    plain! {
        deserialize_bool deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_identifier
        deserialize_ignored_any deserialize_u128 deserialize_i128
    }

    forward! {
        deserialize_any();
        deserialize_f32();
        deserialize_f64();
        deserialize_option();
        deserialize_seq();
        deserialize_map();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! values {
    ($($method:ident($kind:ty);)*) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Numbers<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    values! {
        visit_bool(bool);
        visit_i64(i64);
        visit_u64(u64);
        visit_str(&str);
        visit_borrowed_str(&'de str);
        visit_string(String);
        visit_bytes(&[u8]);
        visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<V::Value, E> {
        self.rules.check(number)?;
        self.inner.visit_f64(number)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.around(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.around(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let seq = self.around(seq);
        self.inner.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let map = self.around(map);
        self.inner.visit_map(map)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        let data = self.around(data);
        self.inner.visit_enum(data)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Numbers<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.around(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Numbers<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Numbers<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'r, A: EnumAccess<'de>> EnumAccess<'de> for Numbers<'r, A> {
    type Error = A::Error;
    type Variant = Numbers<'r, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let rules = self.rules;
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, Numbers { inner, rules }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Numbers<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use crate::http::json::parse;
    use crate::http::strict::Json;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Body {
        limit: Option<u64>,
        small: u8,
        signed: Vec<i64>,
        by_name: BTreeMap<String, u32>,
        #[serde(deserialize_with = "crate::http::strict::optional_json")]
        free: Option<Value>,
        raw: Option<Box<RawValue>>,
        kind: Option<Kind>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Kind {
        Number(u16),
        Fields { count: u32 },
    }

    fn body(text: &str) -> Body {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn integer_is_read_by_its_value() {
        let read = body(
            r#"{"limit":10.0,"small":2.5e1,"signed":[-3.00,4],"by_name":{"a":1e3},"kind":{"Fields":{"count":7.0}}}"#,
        );
        assert_eq!((read.limit, read.small), (Some(10), 25));
        assert_eq!(read.signed, [-3, 4]);
        assert_eq!(read.by_name["a"], 1_000);
        assert_eq!(read.kind, Some(Kind::Fields { count: 7 }));
        assert_eq!(body(r#"{"kind":{"Number":8.0}}"#).kind, Some(Kind::Number(8)));
        assert_eq!(body(r#"{"limit":18446744073709551615}"#).limit, Some(u64::MAX));
    }

    #[test]
    fn number_that_is_no_integer_is_refused() {
        for text in [
            r#"{"limit":1.5}"#,
            r#"{"limit":"10"}"#,
            r#"{"limit":true}"#,
            r#"{"limit":-1.0}"#,
            r#"{"small":256.0}"#,
            r#"{"limit":9007199254740993.0}"#,
            r#"{"limit":1e300}"#,
        ] {
            assert!(parse::<Body>(text.as_bytes()).is_err(), "{text}");
        }
        let refusal = parse::<Body>(br#"{"limit":1.5}"#).unwrap_err();
        assert!(
            refusal.message().contains("expected an integer"),
            "{}",
            refusal.message()
        );
    }

    #[test]
    fn free_json_keeps_its_notation() {
        let read = body(r#"{"free":{"a":[10.0]},"raw":{"b":10.0}}"#);
        assert_eq!(read.free, Some(json!({ "a": [10.0] })));
        assert_eq!(read.raw.unwrap().get(), r#"{"b":10.0}"#);
        assert_eq!(parse::<Json>(b"[1.0]").unwrap().0.to_string(), "[1.0]");
    }
}
