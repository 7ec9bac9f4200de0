//! Checks JSON Schemas that callers write, and their data.
//!
//! Constructs that are known to be expensive are refused by name, so that the author learns the reason. A
//! sandbox ends a check that is expensive for another reason; a schema that cannot be needs none.

use std::collections::HashSet;

use jsonschema::PatternOptions;
use jsonschema::error::ValidationErrorKind;
use platform::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum number of patterns of a schema.
const MAX_PATTERNS: usize = 100;
/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1_000;
/// Maximum size of a compiled pattern, in bytes. A repeated Unicode class takes much more than its text.
const MAX_COMPILED_BYTES: usize = 16 * 1_024 * 1_024;

/// Maximum length of a quotation from the schema in a message, in characters.
const MAX_QUOTED: usize = 300;

/// Keywords whose value is a schema, or a list of schemas.
const SCHEMAS: [&str; 13] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
];
/// Keywords whose value contains schemas by name.
const SCHEMAS_BY_NAME: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Refused keywords, with a replacement.
const REFUSED: [(&str, &str); 4] = [
    ("$dynamicRef", "write it as a $ref"),
    ("$recursiveRef", "write it as a $ref"),
    ("unevaluatedItems", "use 'items' or 'additionalItems'"),
    ("unevaluatedProperties", "use 'additionalProperties'"),
];

/// Keywords whose check may take much more time than the schema and the data have parts.
const EXPENSIVE: [&str; 10] = [
    "$dynamicRef",
    "$id",
    "$recursiveRef",
    "$ref",
    "$schema",
    "format",
    "pattern",
    "patternProperties",
    "unevaluatedProperties",
    "uniqueItems",
];
/// Maximum number of parts of a schema, and of its parts times those of the data, up to which a check takes
/// at most a few milliseconds.
const MAX_CHEAP_PARTS: usize = 1_000;
const MAX_CHEAP_PRODUCT: usize = 50_000;
const BYTES_PER_PART: usize = 64;
/// Maximum nesting depth of a schema, and of its data, whose check fits the caller's stack.
const MAX_CHEAP_DEPTH: usize = 24;

/// Returns whether a check takes little time whatever the schema says: without references and patterns it
/// applies each part of the schema at most once to each part of the data.
pub fn is_cheap(schema: &Value, data: Option<&Value>) -> bool {
    let mut parts = 0;
    let mut data_parts = 1;
    count(schema, 0, &mut parts, MAX_CHEAP_PARTS, &EXPENSIVE)
        && data.is_none_or(|data| count(data, 0, &mut data_parts, MAX_CHEAP_PRODUCT, &[]))
        && parts * data_parts <= MAX_CHEAP_PRODUCT
}

/// Counts the parts of a value; false where there are too many, or too deep, or one has a refused name.
fn count(value: &Value, depth: usize, parts: &mut usize, most: usize, refused: &[&str]) -> bool {
    *parts += 1;
    if depth > MAX_CHEAP_DEPTH || *parts > most {
        return false;
    }
    let mut is_within = |value: &Value| count(value, depth + 1, parts, most, refused);
    match value {
        Value::Array(items) => items.iter().all(is_within),
        Value::Object(fields) => fields.iter().all(|(name, field)| {
            !refused.contains(&name.as_str()) && name.len() <= BYTES_PER_PART && is_within(field)
        }),
        Value::String(text) => {
            *parts += text.len() / BYTES_PER_PART;
            *parts <= most
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Fault of a schema, or of the data that it checks.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Fault {
    field: String,
    /// Rest of the sentence that begins with the field.
    fault: String,
}

impl Fault {
    pub fn new(field: &str, fault: String) -> Self {
        Self {
            field: field.to_owned(),
            fault,
        }
    }
}

impl From<Fault> for Error {
    fn from(Fault { field, fault }: Fault) -> Self {
        Self::invalid_field(&field, fault)
    }
}

/// Checks that `schema` is an accepted JSON Schema, and that `data`, if any, satisfies it.
pub fn check(schema: &Value, data: Option<&Value>) -> Result<(), Fault> {
    Refusal::check(schema).map_err(|reason| Fault::new("inputSchema", format!("{reason}.")))?;
    let linear = PatternOptions::regex()
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES);
    let validator = jsonschema::options().with_pattern_options(linear).build(schema);
    let validator = validator.map_err(|error| {
        let advice = match error.kind() {
            ValidationErrorKind::Format { format } if format == "regex" => {
                "; a pattern has no look-around and no back-references, and takes at most 16 MB once compiled"
            }
            _ => "",
        };
        let masked = shortened(&error.masked());
        Fault::new(
            "inputSchema",
            format!("is not a valid JSON Schema: {masked}{advice}."),
        )
    })?;
    let Some(data) = data else {
        return Ok(());
    };
    validator.validate(data).map_err(|error| {
        let place = error.instance_path().to_string();
        let place = match place.as_str() {
            "" => String::new(),
            place => format!(" at {place}"),
        };
        let (place, masked) = (shortened(&place), shortened(&error.masked()));
        Fault::new(
            "test_data",
            format!("does not satisfy 'inputSchema'{place}: {masked}."),
        )
    })
}

/// Returns the beginning of a text that quotes the schema.
fn shortened(text: &impl ToString) -> String {
    let text = text.to_string();
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Refuses constructs that are known to be expensive. The error is the end of a sentence about the schema.
struct Refusal<'a> {
    root: &'a Value,
    seen: HashSet<*const Map<String, Value>>,
    patterns: usize,
}

impl<'a> Refusal<'a> {
    fn check(schema: &'a Value) -> Result<(), String> {
        let mut refusal = Self {
            root: schema,
            seen: HashSet::new(),
            patterns: 0,
        };
        schema
            .as_object()
            .map_or(Ok(()), |keywords| refusal.look(keywords))
    }

    /// Checks a schema, its subschemas and the schemas that it refers to, each once.
    fn look(&mut self, keywords: &'a Map<String, Value>) -> Result<(), String> {
        if !self.seen.insert(std::ptr::from_ref(keywords)) {
            return Ok(());
        }
        for (keyword, advice) in REFUSED {
            if keywords.contains_key(keyword) {
                return Err(format!("has the keyword '{keyword}'; {advice}"));
            }
        }
        let is_root = self
            .root
            .as_object()
            .is_some_and(|root| std::ptr::eq(root, keywords));
        if !is_root && keywords.contains_key("$id") {
            return Err("has an '$id' below its root; name the part under '$defs' instead".to_owned());
        }
        let by_name = keywords.get("patternProperties").and_then(Value::as_object);
        let own = keywords.get("pattern").and_then(Value::as_str);
        for pattern in by_name
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .chain(own)
        {
            self.patterns += 1;
            if self.patterns > MAX_PATTERNS {
                return Err(format!("has more than {MAX_PATTERNS} patterns"));
            }
            if pattern.len() > MAX_PATTERN_BYTES {
                return Err(format!("has a pattern of more than {MAX_PATTERN_BYTES} bytes"));
            }
        }
        for below in subschemas(keywords) {
            self.look(below)?;
        }
        match keywords.get("$ref") {
            Some(Value::String(reference)) => self.follow(reference),
            _ => Ok(()),
        }
    }

    fn follow(&mut self, reference: &str) -> Result<(), String> {
        let pointer = reference
            .strip_prefix('#')
            .filter(|pointer| !pointer.contains('%'));
        let target = pointer.and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return Err(format!(
                "refers to '{reference}'; a $ref must be a pointer into the same schema, such as #/$defs/name"
            ));
        };
        target.as_object().map_or(Ok(()), |target| self.look(target))
    }
}

/// Returns the subschemas at the places where the standard has schemas.
fn subschemas(keywords: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let direct = SCHEMAS.iter().filter_map(|keyword| keywords.get(*keyword));
    let direct = direct.flat_map(|value| match value {
        Value::Array(list) => list.as_slice(),
        single => std::slice::from_ref(single),
    });
    let named = SCHEMAS_BY_NAME
        .iter()
        .filter_map(|keyword| keywords.get(*keyword)?.as_object());
    direct
        .chain(named.flat_map(Map::values))
        .filter_map(Value::as_object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(schema: &Value) -> String {
        check(schema, Some(&json!({}))).unwrap_err().fault
    }

    #[test]
    fn ordinary_schemas_pass() {
        let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#" } } } });
        let data = json!({ "children": [{ "children": [{}, {}] }, {}] });
        assert_eq!(check(&tree, Some(&data)), Ok(()));
        let definitions = json!({
            "$id": "https://example.com/root",
            "$defs": { "name": { "type": "string", "pattern": "^\\p{L}+$" } },
            "properties": { "a": { "$ref": "#/$defs/name" } },
        });
        assert_eq!(check(&definitions, Some(&json!({ "a": "x" }))), Ok(()));
        assert!(check(&definitions, Some(&json!({ "a": "1" }))).is_err());
        let wide: Map<_, _> = (0..500)
            .map(|number| (format!("p{number}"), json!({ "type": "number" })))
            .collect();
        assert_eq!(
            check(&json!({ "properties": wide }), Some(&json!({ "p1": 1 }))),
            Ok(())
        );
    }

    /// Names of properties and plain data are not keywords.
    #[test]
    fn only_keywords_are_refused() {
        for schema in [
            json!({ "properties": { "$id": { "type": "string" }, "unevaluatedItems": {} } }),
            json!({ "properties": { "a": { "const": { "$id": "x", "unevaluatedProperties": 1 } } } }),
            json!({ "enum": [{ "$ref": "https://example.com" }] }),
            json!({ "default": { "$dynamicRef": "#" } }),
        ] {
            let refused = check(&schema, None);
            assert_eq!(refused, Ok(()), "{schema}");
        }
    }

    #[test]
    fn only_schemas_without_references_and_patterns_are_cheap() {
        let ordinary =
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
        assert!(is_cheap(&ordinary, Some(&json!({ "a": "b" }))));
        for schema in [
            json!({ "items": { "$ref": "#" } }),
            json!({ "properties": { "a": { "pattern": "a" } } }),
            json!({ "uniqueItems": true }),
            json!({ "enum": vec![1; 2_000] }),
            json!({ "const": "x".repeat(100_000) }),
            serde_json::from_str(&format!("{}{{}}{}", r#"{"not":"#.repeat(30), "}".repeat(30))).unwrap(),
        ] {
            assert!(!is_cheap(&schema, None), "{schema}");
        }
        assert!(!is_cheap(&ordinary, Some(&json!(vec![1; 50_000]))));
        assert!(!is_cheap(&ordinary, Some(&json!("x".repeat(1_000_000)))));
    }

    #[test]
    fn ordinary_patterns_are_taken_and_large_ones_say_why_not() {
        for pattern in [
            "^.{0,500}$",
            "^[^<>]{1,4000}$",
            r"^[\p{L} ]{1,200}$",
            "^[A-Za-z0-9+/]{4,2000}={0,2}$",
        ] {
            assert_eq!(check(&json!({ "pattern": pattern }), None), Ok(()), "{pattern}");
        }
        let refusal = check(&json!({ "pattern": r"(\p{L}|\w){1,1000}" }), None)
            .unwrap_err()
            .fault;
        assert!(refusal.contains("16 MB once compiled"), "{refusal}");
    }

    #[test]
    fn a_refusal_quotes_little_of_the_schema() {
        let long = "x".repeat(100_000);
        let refusal = check(&json!({ "const": long }), Some(&json!("y")))
            .unwrap_err()
            .fault;
        assert!(refusal.len() < 1_000, "{}", refusal.len());
    }

    #[test]
    fn costly_keywords_are_refused_by_name() {
        let many: Map<_, _> = (0..101)
            .map(|number| (format!("p{number}"), json!({ "pattern": "a" })))
            .collect();
        for (schema, reason) in [
            (json!({ "$ref": "https://example.com/x" }), "pointer"),
            (json!({ "$ref": "#name" }), "pointer"),
            (
                json!({ "$ref": "#/foo", "foo": { "unevaluatedProperties": false } }),
                "additionalProperties",
            ),
            (
                json!({ "$ref": "#/foo/0", "foo": [{ "$ref": "https://example.com" }] }),
                "pointer",
            ),
            (json!({ "$ref": "#/fo%6f", "foo": {} }), "pointer"),
            (json!({ "$ref": "#/nowhere" }), "pointer"),
            (json!({ "allOf": [{ "$dynamicRef": "#" }] }), "$dynamicRef"),
            (
                json!({ "anyOf": [{ "unevaluatedProperties": false }] }),
                "additionalProperties",
            ),
            (
                json!({ "items": { "unevaluatedItems": false } }),
                "unevaluatedItems",
            ),
            (
                json!({ "$defs": { "a": { "$id": "https://example.com/a" } } }),
                "below its root",
            ),
            (
                json!({ "dependencies": { "a": { "$id": "b" } } }),
                "below its root",
            ),
            (json!({ "properties": many }), "more than 100 patterns"),
            (json!({ "pattern": "a".repeat(1_001) }), "more than 1000 bytes"),
            (json!({ "pattern": "(\\w{999}){999}" }), "not a valid JSON Schema"),
            (json!({ "pattern": "^(?=a)b" }), "not a valid JSON Schema"),
            (json!({ "pattern": "(a)\\1" }), "not a valid JSON Schema"),
        ] {
            let refusal = refusal(&schema);
            assert!(refusal.contains(reason), "{schema}: {refusal}");
        }
    }
}
