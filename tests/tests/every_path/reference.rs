//! Tests the OpenAPI document as a reference: every operation, answer and field has a useful description, and
//! names that work well in generated clients.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

const METHODS: [&str; 4] = ["get", "post", "put", "delete"];
/// Words that add nothing to a field's name.
const EMPTY_WORDS: [&str; 10] = ["its", "the", "a", "an", "of", "this", "that", "for", "in", "is"];
const LEAST_DESCRIPTION: usize = 80;
const MOST_SUMMARY: usize = 80;

fn document() -> Value {
    serde_json::from_str(include_str!("../../../infra/openapi.json")).expect("infra/openapi.json is JSON")
}

fn operations(document: &Value) -> Vec<&Value> {
    let items = document["paths"].as_object().unwrap().values();
    items
        .flat_map(|item| item.as_object().unwrap())
        .filter(|(method, _)| METHODS.contains(&method.as_str()))
        .map(|(_, operation)| operation)
        .collect()
}

#[track_caller]
fn expect_none(faults: Vec<String>) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Resolves a reference, or returns the value itself.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value["$ref"].as_str() {
        Some(reference) => document
            .pointer(&reference[1..])
            .expect("a reference leads somewhere"),
        None => value,
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn every_operation_is_described() {
    let document = document();
    let tags: BTreeSet<_> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| text(tag, "name"))
        .collect();
    let mut faults = Vec::new();
    for operation in operations(&document) {
        let id = text(operation, "operationId");
        let mut fault = |what: &str| faults.push(format!("{id}: {what}"));
        if !id.starts_with(|first: char| first.is_ascii_lowercase())
            || !id.chars().all(|letter| letter.is_ascii_alphanumeric())
        {
            fault("the id is not in camel case");
        }
        let summary = text(operation, "summary");
        if summary.is_empty() || summary.len() > MOST_SUMMARY || summary.ends_with('.') {
            fault("the summary is missing, long, or ends in a full stop");
        }
        if text(operation, "description").len() < LEAST_DESCRIPTION {
            fault("the description does not say when to use it");
        }
        let own = operation["tags"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if own.len() != 1 || !tags.contains(own[0].as_str().unwrap()) {
            fault("it has not one of the tags");
        }
        if operation["security"].as_array().is_none_or(Vec::is_empty) {
            fault("it names no credentials");
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if text(parameter, "description").is_empty() {
                fault(&format!(
                    "its parameter {} is not described",
                    text(parameter, "name")
                ));
            }
        }
    }
    expect_none(faults);
}

#[test]
fn every_answer_is_described_and_every_error_has_an_example() {
    let document = document();
    let mut faults = Vec::new();
    for operation in operations(&document) {
        let id = text(operation, "operationId");
        let responses = operation["responses"].as_object().unwrap();
        for (status, response) in responses {
            let response = resolved(&document, response);
            if text(response, "description").is_empty() {
                faults.push(format!("{id}: {status} is not described"));
            }
            let is_error = status.as_str() >= "400";
            let example = &response["content"]["application/json"]["example"];
            if is_error && example["status"].as_u64() != status.parse().ok() {
                faults.push(format!("{id}: {status} has no example"));
            }
            if is_error && text(example, "message").is_empty() {
                faults.push(format!("{id}: the example of {status} has no message"));
            }
        }
        for needed in ["400", "401", "500", "503"] {
            if !responses.contains_key(needed) {
                faults.push(format!("{id}: {needed} is missing"));
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"];
        if body.is_object() && body["example"].is_null() {
            faults.push(format!("{id}: its body has no example"));
        }
        let mut successes = responses.iter().filter(|(status, _)| status.starts_with('2'));
        let has_example = successes.any(|(_, response)| {
            let content = response["content"].as_object().into_iter().flatten();
            content
                .into_iter()
                .any(|(_, content)| !content["example"].is_null())
        });
        if !has_example {
            faults.push(format!("{id}: no answer of success has an example"));
        }
        if responses.contains_key("default") {
            faults.push(format!("{id}: it has a default response, which names no status"));
        }
    }
    expect_none(faults);
}

#[test]
fn every_field_says_more_than_its_name() {
    let document = document();
    let mut faults = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        if text(schema, "description").is_empty() {
            faults.push(format!("{name} is not described"));
        }
        visit(&document, name, schema, &mut faults);
    }
    expect_none(faults);
}

fn visit(document: &Value, place: &str, schema: &Value, faults: &mut Vec<String>) {
    for (field, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{field}");
        let description = match text(property, "description") {
            "" => text(resolved(document, property), "description"),
            own => own,
        };
        let is_constant = property.get("const").is_some();
        if !is_constant && !says_more(field, description) {
            faults.push(format!("{place}: '{description}'"));
        }
        visit(document, &place, property, faults);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for variant in schema[key].as_array().into_iter().flatten() {
            visit(document, place, variant, faults);
        }
    }
    if schema["items"] == Value::Bool(true) {
        faults.push(format!("{place}: its items are a boolean schema"));
    }
    if schema["items"].is_object() {
        visit(document, place, &schema["items"], faults);
    }
}

fn says_more(field: &str, description: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let mut spaced = String::new();
        for letter in text.chars() {
            if letter.is_uppercase() {
                spaced.push(' ');
            }
            spaced.push(letter.to_ascii_lowercase());
        }
        let words = spaced.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let name_words = words(field);
    let mut description_words = words(description);
    description_words.retain(|word| !EMPTY_WORDS.contains(&word.as_str()));
    !description_words.is_subset(&name_words)
}

#[test]
fn schemas_have_names_that_read_well_in_generated_code() {
    let document = document();
    let mut faults = Vec::new();
    let mut shapes: BTreeMap<String, &str> = BTreeMap::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let is_pascal = name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric());
        if !is_pascal
            || ["View", "Record", "Listing"]
                .iter()
                .any(|end| name.ends_with(end))
        {
            faults.push(format!("{name} is no name for a client"));
        }
        let shape = without_descriptions(schema.clone()).to_string();
        if schema["properties"].is_object()
            && let Some(other) = shapes.insert(shape, name)
        {
            faults.push(format!("{name} is {other} once more"));
        }
        for variants in [&schema["oneOf"], &schema["anyOf"]] {
            for variant in variants.as_array().into_iter().flatten() {
                if variant["properties"].is_object() && text(variant, "title").is_empty() {
                    faults.push(format!("{name} has a variant without a title"));
                }
            }
        }
    }
    expect_none(faults);
}

fn without_descriptions(mut schema: Value) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
        for value in object.values_mut() {
            *value = without_descriptions(value.take());
        }
    }
    schema
}
