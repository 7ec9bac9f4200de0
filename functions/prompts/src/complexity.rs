//! How much work a JSON Schema makes, counted before it is done.
//!
//! A validator follows every reference anew, so a schema of a few kilobytes can ask for more steps than there is time:
//! references that fan out double the work with every level, of the schema or of the data. What is counted here is what the
//! validator would do, pair by pair of schema and data, each pair once; past a bound the schema is refused.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Most steps of one validation: some tenths of a second.
const MAX_STEPS: u64 = 200_000;
/// Most pairs that are looked at to count them.
const MAX_PAIRS: usize = 100_000;

/// Keywords whose schema, or list of schemas, holds for the same value.
const IN_PLACE: &[&str] = &["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
/// Keywords whose schema, or list of schemas, holds for the parts of the value.
const OF_PARTS: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
];
/// Keywords whose schemas, by name or pattern, hold for the parts of the value.
const OF_NAMED_PARTS: &[&str] = &["properties", "patternProperties", "dependentSchemas"];

/// Whether checking `data` against `schema` stays within the bound. The error ends a sentence.
pub fn check(schema: &Value, data: &Value) -> Result<(), String> {
    let mut counter = Counter {
        root: schema,
        known: HashMap::new(),
        open: HashSet::new(),
    };
    match counter.steps(schema, data, 0)? {
        steps if steps > MAX_STEPS => Err("asks for too many steps; let fewer references meet".to_owned()),
        _ => Ok(()),
    }
}

/// Deepest pair: schemas and data are at most 128 deep each.
const MAX_DEPTH: usize = 300;

struct Counter<'a> {
    root: &'a Value,
    known: HashMap<(*const Value, *const Value), u64>,
    open: HashSet<(*const Value, *const Value)>,
}

impl<'a> Counter<'a> {
    fn steps(&mut self, schema: &'a Value, data: &'a Value, depth: usize) -> Result<u64, String> {
        let Value::Object(keywords) = schema else {
            return Ok(1);
        };
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(data));
        if let Some(steps) = self.known.get(&pair) {
            return Ok(*steps);
        }
        if depth > MAX_DEPTH || self.known.len() > MAX_PAIRS {
            return Err("is too complex".to_owned());
        }
        if !self.open.insert(pair) {
            return Err("refers to itself without going deeper into the data".to_owned());
        }
        let mut steps = 1_u64;
        if let Some(reference) = keywords.get("$ref") {
            let target = self.target(reference)?;
            steps = steps.saturating_add(self.steps(target, data, depth + 1)?);
        }
        if keywords.contains_key("$dynamicRef") || keywords.contains_key("$recursiveRef") {
            return Err("has a dynamic reference; write it as a $ref".to_owned());
        }
        for subschema in IN_PLACE
            .iter()
            .filter_map(|keyword| keywords.get(*keyword))
            .flat_map(schemas)
        {
            steps = steps.saturating_add(self.steps(subschema, data, depth + 1)?);
        }
        let of_parts = OF_PARTS
            .iter()
            .filter_map(|keyword| keywords.get(*keyword))
            .flat_map(schemas);
        let named = OF_NAMED_PARTS
            .iter()
            .filter_map(|keyword| keywords.get(*keyword)?.as_object());
        let of_parts: Vec<_> = of_parts.chain(named.flat_map(|map| map.values())).collect();
        for part in parts(data) {
            for subschema in &of_parts {
                steps = steps.saturating_add(self.steps(subschema, part, depth + 1)?);
            }
        }
        self.open.remove(&pair);
        self.known.insert(pair, steps);
        Ok(steps)
    }

    fn target(&self, reference: &Value) -> Result<&'a Value, String> {
        let text = reference.as_str().unwrap_or_default();
        let found = text
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer));
        found.ok_or_else(|| {
            format!("refers to '{text}'; a $ref must be a pointer into the same schema, such as #/$defs/name")
        })
    }
}

fn schemas(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(list) => Box::new(list.iter()),
        other => Box::new(std::iter::once(other)),
    }
}

fn parts(data: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match data {
        Value::Array(list) => Box::new(list.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ordinary_schemas_pass() {
        let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#" } } } });
        let data = json!({ "children": [{ "children": [{}, {}] }, {}] });
        assert_eq!(check(&tree, &data), Ok(()));
        let definitions = json!({ "$defs": { "name": { "type": "string" } }, "properties": { "a": { "$ref": "#/$defs/name" } } });
        assert_eq!(check(&definitions, &json!({ "a": "x" })), Ok(()));
        let wide: serde_json::Map<_, _> = (0..500)
            .map(|n| (format!("p{n}"), json!({ "type": "number" })))
            .collect();
        assert_eq!(check(&json!({ "properties": wide }), &json!({ "p1": 1 })), Ok(()));
    }

    #[test]
    fn references_that_fan_out_are_refused() {
        let level = |n: u32| json!({ "allOf": [{ "$ref": format!("#/$defs/a{}", n + 1) }, { "$ref": format!("#/$defs/a{}", n + 1) }] });
        let mut definitions: serde_json::Map<_, _> = (0..45).map(|n| (format!("a{n}"), level(n))).collect();
        definitions.insert("a45".to_owned(), json!({ "type": "object" }));
        let schema = json!({ "$ref": "#/$defs/a0", "$defs": definitions });
        assert!(check(&schema, &json!({})).unwrap_err().contains("too many steps"));
    }

    #[test]
    fn data_that_fans_out_is_refused() {
        let schema = json!({ "properties": { "a": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
        let mut data = json!({});
        for _ in 0..60 {
            data = json!({ "a": data });
        }
        assert!(check(&schema, &data).unwrap_err().contains("too many steps"));
    }

    #[test]
    fn references_elsewhere_are_refused() {
        assert!(
            check(&json!({ "$ref": "https://example.com/x" }), &json!({}))
                .unwrap_err()
                .contains("pointer")
        );
        assert!(
            check(&json!({ "$ref": "#" }), &json!({}))
                .unwrap_err()
                .contains("refers to itself")
        );
    }
}
