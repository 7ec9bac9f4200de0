//! Resolves dot-paths in JSON: names of fields and positions in arrays, as in `commits.0.id`.

use platform::{Error, Result};
use serde_json::Value;

/// Maximum length of a path, in characters.
pub const MAX_PATH_CHARACTERS: usize = 500;
/// Maximum number of steps of a path: the maximum nesting depth of parsed JSON.
const MAX_STEPS: usize = 128;

/// Fails with 400 for an invalid path; `field` is the name of the field for the caller.
pub fn check(field: &str, path: &str) -> Result<()> {
    let steps = path.split('.');
    if path.chars().count() > MAX_PATH_CHARACTERS
        || path.split('.').count() > MAX_STEPS
        || steps.into_iter().any(str::is_empty)
    {
        return Err(Error::invalid(format!(
            "The field '{field}' is not a path; write the names of fields and places in arrays with dots between them, as in \
             commits.0.id."
        )));
    }
    Ok(())
}

/// Returns the value at a path; None where there is none. In an array a step is a position from 0, anywhere
/// else a name.
pub fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(place(step)?),
        _ => None,
    })
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
    fn invalid_paths_are_refused() {
        for path in ["", ".", "a..b", ".a", "a.", &"a.".repeat(200), &"a".repeat(501)] {
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
    }
}
