//! Names a value of a sender's request, and finds it.
//!
//! | text | value |
//! |---|---|
//! | `header:x-github-event` | a header |
//! | `query:token` | a parameter of the query |
//! | `data.object.id`, `body:data.object.id` | a value of the body, by the grammar of [`path`] |
//! | `{{ header:x-kind }}.{{ action }}` | a text with values in it |
//! | `event.type \| command` | the first of several that is there |

use std::borrow::Cow;

use platform::{Error, Result};
use serde_json::Value;

use super::request::Request;
use crate::path::{self, MAX_PATH_CHARACTERS};

const HEADER: &str = "header:";
const QUERY: &str = "query:";
const BODY: &str = "body:";
const OPEN: &str = "{{";
const CLOSE: &str = "}}";
const OR: &str = " | ";

/// A request with its body as JSON.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    pub request: Request<'a>,
    pub body: &'a Value,
}

/// Fails with 400 for a text that names no value; `field` is the name of the field for the caller.
pub fn check(field: &str, text: &str) -> Result<()> {
    if text.chars().count() > MAX_PATH_CHARACTERS {
        return Err(Error::invalid_field(
            field,
            format!("has at most {MAX_PATH_CHARACTERS} characters."),
        ));
    }
    for option in options(text) {
        match parts(option) {
            None => check_one(field, option)?,
            Some(Err(why)) => return Err(Error::invalid_field(field, why)),
            Some(Ok(parts)) => {
                for inner in parts.iter().filter_map(Part::inner) {
                    options(inner).try_for_each(|option| check_one(field, option))?;
                }
            }
        }
    }
    Ok(())
}

fn check_one(field: &str, text: &str) -> Result<()> {
    if let Some(name) = text.strip_prefix(HEADER) {
        return match is_header_name(name) {
            true => Ok(()),
            false => Err(Error::invalid_field(
                field,
                "names no header; write one as in header:x-github-event.",
            )),
        };
    }
    if let Some(name) = text.strip_prefix(QUERY) {
        return match name.is_empty() {
            false => Ok(()),
            true => Err(Error::invalid_field(
                field,
                "names no parameter of the query; write one as in query:token.",
            )),
        };
    }
    path::check(field, text.strip_prefix(BODY).unwrap_or(text))
}

/// Whether a text is a name of a header: 1 to 100 letters, digits, `-` or `_`.
pub fn is_header_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=100).contains(&name.len()) && name.bytes().all(fits)
}

/// Returns the value that a text names; None where it is not there, or is null.
pub fn find<'a>(text: &str, fields: Fields<'a>) -> Option<Cow<'a, Value>> {
    options(text).find_map(|option| match parts(option) {
        None => find_one(option, fields),
        Some(parts) => fill(&parts.ok()?, fields).map(|text| Cow::Owned(Value::String(text))),
    })
}

/// Returns a value that [`find`] finds, as a text.
pub fn find_text(text: &str, fields: Fields<'_>) -> Option<String> {
    find(text, fields).and_then(|value| as_text(&value))
}

fn find_one<'a>(text: &str, fields: Fields<'a>) -> Option<Cow<'a, Value>> {
    let owned = |text: String| Cow::Owned(Value::String(text));
    if let Some(name) = text.strip_prefix(HEADER) {
        return fields.request.header(name).map(|text| owned(text.to_owned()));
    }
    if let Some(name) = text.strip_prefix(QUERY) {
        return fields.request.query(name).map(owned);
    }
    let value = path::find(fields.body, text.strip_prefix(BODY).unwrap_or(text))?;
    (!value.is_null()).then_some(Cow::Borrowed(value))
}

/// Returns the text of a value that can be part of a name: a text, a whole number of 64 bits or a boolean.
pub fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        // A number that is not exact here would stand for its neighbours too.
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        Value::Number(_) => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A part of a text with values in it.
enum Part<'t> {
    Text(&'t str),
    /// What stands between the braces.
    Value(&'t str),
}

impl<'t> Part<'t> {
    fn inner(&self) -> Option<&'t str> {
        match self {
            Self::Text(_) => None,
            Self::Value(inner) => Some(inner),
        }
    }
}

/// Returns the parts of a text with braces; None for one without.
fn parts(text: &str) -> Option<std::result::Result<Vec<Part<'_>>, &'static str>> {
    text.contains(OPEN).then(|| {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (inner, after) = after
                .split_once(CLOSE)
                .ok_or("has {{ without }}; write a value as in {{ header:x-shopify-topic }}.")?;
            parts.push(Part::Text(before));
            parts.push(Part::Value(inner.trim()));
            rest = after;
        }
        parts.push(Part::Text(rest));
        Ok(parts)
    })
}

/// Returns a text with its values; None where one of them is not there.
fn fill(parts: &[Part<'_>], fields: Fields<'_>) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(piece) => text.push_str(piece),
            Part::Value(inner) => {
                let value = options(inner).find_map(|option| find_one(option, fields))?;
                text.push_str(&as_text(&value)?);
            }
        }
    }
    Some(text)
}

/// Splits a text at each ` | ` that is not between braces.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut from = 0;
        loop {
            let Some(at) = text
                .get(from..)
                .and_then(|part| part.find(OR))
                .map(|at| from + at)
            else {
                rest = None;
                return Some(text.trim());
            };
            let (before, after) = text.split_at(at);
            from = at + OR.len();
            if before.matches(OPEN).count() == before.matches(CLOSE).count() {
                rest = after.get(OR.len()..);
                return Some(before.trim());
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn find_in_request(text: &str) -> Option<Value> {
        let mut headers = HeaderMap::new();
        headers.insert("x-kind", " push ".parse().unwrap());
        let body = json!({ "a": { "b": 7 }, "text": "t", "none": null, "header:x": 1, "list": [1] });
        let request = Request {
            method: "POST",
            url: "https://x.example/c?token=a%20b&empty=",
            headers: &headers,
            body: b"",
        };
        let fields = Fields { request, body: &body };
        find(text, fields).map(Cow::into_owned)
    }

    #[test]
    fn values_are_found_by_their_names() {
        for (text, value) in [
            ("a.b", Some(json!(7))),
            ("body:a.b", Some(json!(7))),
            ("header:x-kind", Some(json!("push"))),
            ("header:X-Kind", Some(json!("push"))),
            ("header:x-other", None),
            ("query:token", Some(json!("a b"))),
            ("query:other", None),
            ("none", None),
            ("none | text", Some(json!("t"))),
            ("header:x-other | query:other | a.b | text", Some(json!(7))),
            ("{{ header:x-kind }}.{{a.b}}", Some(json!("push.7"))),
            ("{{ header:x-kind }}.{{ missing }}", None),
            ("{{ missing }} | {{ missing | text }}!", Some(json!("t!"))),
            ("x {{ list }}", None),
        ] {
            check("field", text).unwrap();
            assert_eq!(find_in_request(text), value, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, why) in [
            ("header:", "names no header"),
            ("header:a b", "names no header"),
            ("query:", "names no parameter"),
            ("{{ a", "without }}"),
            ("{{ }}", "is not a path"),
            ("a | ", "is not a path"),
            ("{{ a..b }}", "is not a path"),
            ("a.*", "is not a path"),
        ] {
            let refusal = check("transform.action_path", text).unwrap_err();
            assert!(refusal.message().contains(why), "{text}: {}", refusal.message());
        }
    }

    proptest! {
        /// Any text is checked and looked for without a panic, and a refused one has no braces left open.
        #[test]
        fn any_text_is_taken_or_refused(text in "[ab.{}| :headrquy]{0,24}") {
            let _ = check("field", &text);
            let _ = find_in_request(&text);
        }
    }
}
