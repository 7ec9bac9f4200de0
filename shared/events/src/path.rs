//! Resolves paths in JSON: names of fields and positions in arrays, with dots between them, as in
//! `commits.0.id`.
//!
//! What people know from JSONPath and JSON Pointer is taken too: `$.commits[0].id`, `commits[0].id`,
//! `metadata['order.id']`, `/commits/0/id`. Where the names of a body look like that, they come first.

use std::borrow::Cow;

use platform::{Error, Result};
use serde_json::Value;

/// Maximum length of a path, in characters.
pub const MAX_PATH_CHARACTERS: usize = 500;
/// Maximum number of steps of a path: the maximum nesting depth of parsed JSON.
const MAX_STEPS: usize = 128;

/// Fails with 400 for an invalid path; `field` is the name of the field for the caller.
pub fn check(field: &str, path: &str) -> Result<()> {
    let is_short = path.chars().count() <= MAX_PATH_CHARACTERS;
    match steps(path).filter(|steps| is_short && steps.len() <= MAX_STEPS) {
        Some(_) => Ok(()),
        None => Err(Error::invalid_field(
            field,
            format!(
                "is not a path; write the names of fields and places in arrays with dots between them, as in \
             commits.0.id, and a name that has a dot in quotes, as in metadata['order.id']. There are no braces, wildcards or \
             filters, and at most {MAX_PATH_CHARACTERS} characters."
            ),
        )),
    }
}

/// Returns the value at a path; None where there is none. In an array a step is a position from 0, anywhere
/// else a name.
pub fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let next = |value: &'a Value, step: &str| match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(place(step)?),
        _ => None,
    };
    let mut plain = path.split('.');
    plain.try_fold(value, next).or_else(|| {
        steps(path)?
            .iter()
            .try_fold(value, |value, step| next(value, step))
    })
}

/// Returns the steps of a path; None for what is no path.
pub(crate) fn steps(path: &str) -> Option<Vec<Cow<'_, str>>> {
    if let Some(pointer) = path.strip_prefix('/') {
        let names = pointer.split('/');
        return names
            .map(|name| match name.contains('~') {
                true => Some(name.replace("~1", "/").replace("~0", "~").into()),
                false => (!name.is_empty()).then_some(name.into()),
            })
            .collect();
    }
    let mut rest = match path.strip_prefix('$') {
        Some(rest) if rest.starts_with(['.', '[']) => rest.strip_prefix('.').unwrap_or(rest),
        _ => path,
    };
    let mut steps = Vec::new();
    loop {
        let step;
        (step, rest) = match rest.strip_prefix('[') {
            Some(inside) => bracketed(inside)?,
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        if step.is_empty() || step == "*" || step.contains("{{") || step.starts_with("${") {
            return None;
        }
        steps.push(step.into());
        rest = match rest.strip_prefix('.') {
            Some(after) if !after.starts_with('[') => after,
            None if rest.is_empty() => return Some(steps),
            None if rest.starts_with('[') => rest,
            _ => return None,
        };
    }
}

/// Returns what stands in brackets, without quotes, and what follows.
fn bracketed(inside: &str) -> Option<(&str, &str)> {
    for quote in ["'", "\""] {
        if let Some(quoted) = inside.strip_prefix(quote) {
            let (name, rest) = quoted.split_once(quote)?;
            return Some((name, rest.strip_prefix(']')?));
        }
    }
    let (name, rest) = inside.split_once(']')?;
    let is_plain = !name.contains(['[', '?', ':', ',', '*']);
    is_plain.then_some((name, rest))
}

/// Parses a position in an array: without a sign and without leading zeros.
pub(crate) fn place(step: &str) -> Option<usize> {
    let plain = step.bytes().all(|byte| byte.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    plain.then(|| step.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn paths_lead_through_fields_and_arrays() {
        let body = json!({"commits": [{"id": "a"}, {"id": "b"}], "0": {"x": null}, "": 1});
        for (path, found) in [
            ("commits.0.id", Some(json!("a"))),
            ("commits.1.id", Some(json!("b"))),
            ("0.x", Some(json!(null))),
            ("commits", Some(body["commits"].clone())),
            ("commits.2.id", None),
            ("commits.00.id", None),
            ("commits.+1.id", None),
            ("commits.-1.id", None),
            ("commits.id", None),
            ("commits.0.id.x", None),
            ("commits.99999999999999999999", None),
            ("nothing", None),
        ] {
            assert_eq!(find(&body, path), found.as_ref(), "{path}");
        }
    }

    #[test]
    fn paths_of_other_languages_lead_to_the_same_value() {
        let body = json!({
            "data": { "lines": [{ "id": "a" }], "order.id": "o", "a/b~c": 1 },
            "$": { "x": 2 }, "item[0]": 3, "/a": 4, "it's": 5,
        });
        for (path, found) in [
            ("$.data.lines[0].id", Some(json!("a"))),
            ("$['data'][\"lines\"][0]['id']", Some(json!("a"))),
            ("data.lines[0].id", Some(json!("a"))),
            ("data[lines][0][id]", Some(json!("a"))),
            ("/data/lines/0/id", Some(json!("a"))),
            ("/data/a~1b~0c", Some(json!(1))),
            ("data['order.id']", Some(json!("o"))),
            ("$.data[\"order.id\"]", Some(json!("o"))),
            ("data.order.id", None),
            ("data.lines[1].id", None),
            // The names of the body come first.
            ("$.x", Some(json!(2))),
            ("item[0]", Some(json!(3))),
            ("/a", Some(json!(4))),
            ("[\"it's\"]", Some(json!(5))),
        ] {
            check("x", path).unwrap();
            assert_eq!(find(&body, path), found.as_ref(), "{path}");
        }
    }

    #[test]
    fn invalid_paths_are_refused() {
        for path in [
            "",
            ".",
            "a..b",
            ".a",
            "a.",
            &"a.".repeat(200),
            &"a".repeat(501),
            "$.",
            "$..a",
            "$.a[",
            "a[]",
            "a['b",
            "a['b'x",
            "a]b[",
            "a.[0]",
            "$.a[*]",
            "$.a.*",
            "$.a[?(@.b)]",
            "$.a[0:2]",
            "{{ data.id }}",
            "/",
            "/a//b",
        ] {
            let refusal = check("transform.action_path", path).unwrap_err();
            assert!(refusal.message().contains("'transform.action_path'"), "{path}");
        }
        check("x", "a.0.b c.ä").unwrap();
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c0-2]{1,2}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Collects every value within another one, with its path.
    fn places(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(place, value)| (place.to_string(), value)).collect()
            }
            _ => return,
        };
        for (step, child) in children {
            let path = if path.is_empty() {
                step
            } else {
                format!("{path}.{step}")
            };
            found.push((path.clone(), child.clone()));
            places(child, &path, found);
        }
    }

    proptest! {
        /// The path of each value finds it.
        #[test]
        fn every_place_has_a_path(body in any_json()) {
            let mut all = Vec::new();
            places(&body, "", &mut all);
            for (path, value) in all {
                check("x", &path).unwrap();
                prop_assert_eq!(find(&body, &path), Some(&value), "{}", path);
            }
        }

        /// Any path finds an existing value or nothing, and never panics.
        #[test]
        fn any_path_is_followed(body in any_json(), path in "[a-c0-2.\\-+]{0,8}") {
            let mut all = Vec::new();
            places(&body, "", &mut all);
            let expected = all.iter().find(|(known, _)| *known == path).map(|(_, value)| value);
            prop_assert_eq!(find(&body, &path), expected);
        }

        /// A path of any characters is followed and never panics.
        #[test]
        fn any_text_is_a_path_or_none(body in any_json(), path in "[a-c0-2.$/~\\[\\]'\"*{é]{0,12}") {
            if check("x", &path).is_err() {
                prop_assert!(find(&body, &path).is_none());
            }
        }
    }
}
