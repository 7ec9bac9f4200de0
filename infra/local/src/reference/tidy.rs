//! Simplifies schemas for client generators.
//!
//! The types say more than a client needs: `null` for an omitted query parameter, the width of an integer,
//! `true` for any JSON value. Generators warn about these, or refuse the document.

use std::collections::BTreeSet;

use platform::ids::MAX_ID_LENGTH;
use serde_json::{Map, Value, json};

/// Simplifies the schemas of a document, and drops unused components.
pub(super) fn tidy(document: &mut Value) {
    plain(document);
    for operation in operations(document) {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        parameters.into_iter().flatten().for_each(plain_parameter);
    }
    drop_unused(document);
}

/// Ids that [`Path`](platform::http::Path) accepts: no control character and no `#`.
const ID_PATTERN: &str = r"^[^#\u0000-\u001f\u007f-\u009f]+$";

/// Maximums of 8-bit and 16-bit unsigned integers. No field means them as its limit.
const WIDTHS: [Option<u64>; 2] = [Some(255), Some(65_535)];

/// Joins the lines of a description; line breaks of the source separate neither paragraphs nor list entries.
fn unwrapped(description: &str) -> String {
    let mut text = String::new();
    for line in description.lines().map(str::trim) {
        let is_entry = line.is_empty() || line.starts_with("- ");
        match (text.is_empty() || text.ends_with('\n'), is_entry) {
            (true, _) => {}
            (false, true) => text.push('\n'),
            (false, false) => text.push(' '),
        }
        text.push_str(line);
        if line.is_empty() {
            text.push('\n');
        }
    }
    text
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document.pointer_mut("/paths").and_then(Value::as_object_mut);
    let paths = paths.into_iter().flatten();
    let items = paths.filter_map(|(_, item)| item.as_object_mut()).flatten();
    items.filter_map(|(name, operation)| {
        ["get", "post", "put", "delete"]
            .contains(&name.as_str())
            .then_some(operation)
    })
}

fn plain(value: &mut Value) {
    match value {
        Value::Object(object) => {
            plain_schema(object);
            for (name, value) in object.iter_mut() {
                // Examples are data and stay unchanged.
                if name != "example" && name != "examples" {
                    plain(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn plain_schema(schema: &mut Map<String, Value>) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    if format.starts_with("uint") {
        schema.remove("format");
        if WIDTHS.contains(&schema.get("maximum").and_then(Value::as_u64)) {
            schema.remove("maximum");
        }
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = unwrapped(description);
    }
    let default = schema.get("default");
    if default.is_some_and(|default| [json!(null), json!({}), json!([])].contains(default)) {
        schema.remove("default");
    }
    for place in ["items", "schema"] {
        if schema.get(place) == Some(&json!(true)) {
            schema.insert(place.to_owned(), json!({}));
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties
            .values_mut()
            .filter(|property| **property == json!(true))
        {
            *property = json!({});
        }
    }
    if let Some(variants) = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .and_then(|all| constants(all))
    {
        let (names, list) = variants;
        let description = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let description = json!(format!("{description}\n\n{list}"));
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), names);
        schema.insert("description".to_owned(), description);
    }
    // A reference with a description beside it, which OpenAPI 3.1 accepts as it is.
    if let Some([Value::Object(only)]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && only.len() == 1
        && let Some(reference) = only.get("$ref").cloned()
        && !schema.contains_key("properties")
    {
        schema.remove("allOf");
        schema.insert("$ref".to_owned(), reference);
    }
}

/// Returns the names of an enumeration and a list of their meanings. None where a variant is not a name.
fn constants(variants: &[Value]) -> Option<(Value, String)> {
    let mut names = Vec::new();
    let mut lines = Vec::new();
    for variant in variants {
        let name = variant.get("const")?.as_str()?;
        lines.push(format!(
            "- `{name}`: {}",
            variant
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
        ));
        names.push(name);
    }
    Some((json!(names), lines.join("\n")))
}

/// A parameter is omitted rather than null; its description belongs to the parameter and not to its schema.
fn plain_parameter(parameter: &mut Value) {
    let Some(parameter) = parameter.as_object_mut() else {
        return;
    };
    let is_in_path = parameter.get("in") == Some(&json!("path"));
    let Some(Value::Object(schema)) = parameter.get_mut("schema") else {
        return;
    };
    let is_id = is_in_path && !schema.contains_key("enum");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(variants)) = schema.get_mut("anyOf") {
        variants.retain(|variant| variant.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = variants.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            schema.extend(only);
        }
    }
    if is_id {
        schema.insert("minLength".to_owned(), json!(1));
        schema.insert("maxLength".to_owned(), json!(MAX_ID_LENGTH));
        schema.insert("pattern".to_owned(), json!(ID_PATTERN));
    }
    if let Some(description) = schema.remove("description") {
        parameter.entry("description").or_insert(description);
    }
}

fn drop_unused(document: &mut Value) {
    let mut used = BTreeSet::new();
    for place in ["/paths", "/webhooks", "/components/responses"] {
        collect(document.pointer(place).unwrap_or(&Value::Null), &mut used);
    }
    let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") else {
        return;
    };
    let mut seen = 0;
    while used.len() > seen {
        seen = used.len();
        for name in used.clone() {
            collect(schemas.get(&name).unwrap_or(&Value::Null), &mut used);
        }
    }
    schemas.retain(|name, _| used.contains(name));
}

/// Collects the names of the schemas that a value refers to.
fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let reference = object.get("$ref").and_then(Value::as_str);
            names.extend(
                reference
                    .and_then(|text| text.strip_prefix("#/components/schemas/"))
                    .map(str::to_owned),
            );
            object.values().for_each(|value| collect(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, names)),
        _ => {}
    }
}
