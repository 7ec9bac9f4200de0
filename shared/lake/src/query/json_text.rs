//! Reads a value of a JSON document as text. DuckDB's own functions read numbers as doubles and lose digits.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use duckdb::arrow::array::{Array, RecordBatch, StringArray};
use duckdb::arrow::datatypes::DataType;
use duckdb::vscalar::{ArrowFunctionSignature, VArrowScalar};
use platform::compact_json;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) const NAME: &str = "json_text";

/// The function `json_text(document, pointer)`: a text as it is, another value as its JSON without blanks.
/// It is null for null, for a missing value, and where the document is no JSON.
pub(crate) struct JsonText;

impl VArrowScalar for JsonText {
    type State = ();

    fn invoke((): &(), input: RecordBatch) -> Result<Arc<dyn Array>, Box<dyn StdError>> {
        let column = |index| input.column(index).as_any().downcast_ref::<StringArray>();
        let columns = column(0).zip(column(1));
        let (documents, pointers) = columns.ok_or("the function takes two texts")?;
        let texts = documents.iter().zip(pointers).map(|row| {
            let (document, pointer) = (row.0?, row.1?);
            text_at(document, pointer)
        });
        Ok(Arc::new(texts.collect::<StringArray>()))
    }

    fn signatures() -> Vec<ArrowFunctionSignature> {
        vec![ArrowFunctionSignature::exact(
            vec![DataType::Utf8, DataType::Utf8],
            DataType::Utf8,
        )]
    }
}

fn text_at(document: &str, pointer: &str) -> Option<String> {
    let steps: Vec<_> = pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let document: &RawValue = serde_json::from_str(document).ok()?;
    let value = below(document, &steps)?;
    match value.get() {
        "null" => None,
        text if text.starts_with('"') => serde_json::from_str(text).ok(),
        json => {
            let mut text = String::with_capacity(json.len());
            compact_json(json, &mut text);
            Some(text)
        }
    }
}

/// Finds the value at some steps below a value. Of equal names the last one counts.
fn below<'v>(value: &'v RawValue, steps: &[String]) -> Option<&'v RawValue> {
    let [step, rest @ ..] = steps else {
        return Some(value);
    };
    let step = Step { step, rest };
    let mut deserializer = serde_json::Deserializer::from_str(value.get());
    let value = match value.get().as_bytes().first() {
        Some(b'{') => deserializer.deserialize_map(step),
        Some(b'[') => deserializer.deserialize_seq(step),
        _ => return None,
    };
    value.ok()?
}

struct Step<'s> {
    step: &'s str,
    rest: &'s [String],
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut value = None;
        while let Some(is_step) = map.next_key_seed(Is(self.step))? {
            match is_step {
                true => value = below(map.next_value()?, self.rest),
                false => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let place = self.step.parse::<usize>();
        let place = place.ok().filter(|place| place.to_string() == self.step);
        let mut value = None;
        let mut index = 0;
        while let Some(item) = items.next_element::<&RawValue>()? {
            if Some(index) == place {
                value = below(item, self.rest);
            }
            index += 1;
        }
        Ok(value)
    }
}

/// Compares a name with a step.
struct Is<'s>(&'s str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_keeps_its_digits_whatever_stands_around_it() {
        let document = r#"{"n": 12345678901234567.89, "e":1e2, "big":18446744073709551617, "t":"a\nb",
            "a/b": {"~": [1, [2.50, {"x" : 1.0}], false]}, "none":null, "far":1e999, "same":1, "same":2}"#;
        for (pointer, text) in [
            ("/n", Some("12345678901234567.89")),
            ("/e", Some("1e2")),
            ("/big", Some("18446744073709551617")),
            ("/t", Some("a\nb")),
            ("/a~1b/~0/0", Some("1")),
            ("/a~1b/~0/1", Some(r#"[2.50,{"x":1.0}]"#)),
            ("/a~1b/~0/2", Some("false")),
            ("/a~1b/~0/01", None),
            ("/a~1b/~0/3", None),
            ("/none", None),
            ("/none/x", None),
            ("/far", Some("1e999")),
            ("/same", Some("2")),
            ("/missing", None),
            ("/t/x", None),
        ] {
            assert_eq!(text_at(document, pointer).as_deref(), text, "{pointer}");
        }
        assert_eq!(
            text_at(r#"{"a":1e999,"a":{"x":1}}"#, "/a/x").as_deref(),
            Some("1")
        );
        for document in ["", "{", "no JSON", "{'n':1}", r#"{"n":1} x"#] {
            assert_eq!(text_at(document, "/n"), None, "{document}");
        }
    }
}
