//! Fills templates: data that contains references to parts of an event.
//!
//! `$event.<path>`, or `{{ event.<path> }}` as a whole text, becomes the value with its type; within a longer
//! text it is inserted as text. `$event` is the whole event, `$event_ref` the fields that identify it,
//! `$delivery.id` the delivery's id. A path without a value is an error: the author of the template relied on
//! it.
//!
//! Values are copied as their JSON text, so that a number keeps its digits.

pub mod warnings;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use platform::{Result as Checked, compact_json};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::path;

/// Maximum size of filled data in bytes, as for a run's input.
pub const MAX_FILLED_BYTES: usize = 2 * 1_024 * 1_024;
/// Fields that identify an event.
const REFERENCE: [&str; 5] = [
    "event_id",
    "event_category",
    "action",
    "resource_type",
    "resource_id",
];

/// Why a template cannot be filled. A retry has the same result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfilled {
    /// A path has no value.
    #[error("the template names '{0}', which the event does not have")]
    Missing(String),
    #[error("the filled template has more than {MAX_FILLED_BYTES} bytes")]
    TooLarge,
}

/// Data that templates are filled with.
pub struct Filling<'a> {
    /// Envelope of the event as JSON.
    event: &'a str,
    delivery_id: &'a str,
    /// Parsed parts of values, by the place of their text in the event.
    parts: RefCell<HashMap<*const u8, Rc<Parts<'a>>>>,
}

enum Parts<'a> {
    Fields(HashMap<String, &'a RawValue>),
    Items(Vec<&'a RawValue>),
    None,
}

impl<'a> Filling<'a> {
    /// `event` is the envelope as JSON.
    pub fn new(event: &'a str, delivery_id: &'a str) -> Self {
        Self {
            event,
            delivery_id,
            parts: RefCell::default(),
        }
    }

    /// Fills every text in a value; returns the result as JSON.
    pub fn fill(&self, template: &Value) -> Result<String, Unfilled> {
        let mut filled = String::new();
        self.write(template, &mut filled)?;
        Ok(filled)
    }

    /// Returns the fields that identify the event.
    pub fn reference(&self) -> Value {
        let value = |name: &str| {
            let found = self.find(name);
            found.and_then(|text| serde_json::from_str::<Value>(text).ok())
        };
        let fields = REFERENCE.map(|name| (name.to_owned(), value(name).unwrap_or_default()));
        Value::Object(Map::from_iter(fields))
    }

    fn write(&self, template: &Value, out: &mut String) -> Result<(), Unfilled> {
        match template {
            Value::String(text) => self.write_text(text, out)?,
            Value::Array(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    separate(place, out);
                    self.write(item, out)?;
                }
                out.push(']');
            }
            Value::Object(fields) => {
                out.push('{');
                for (place, (name, value)) in fields.iter().enumerate() {
                    separate(place, out);
                    quote(name, out);
                    out.push(':');
                    self.write(value, out)?;
                }
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
        bounded(out)
    }

    fn write_text(&self, text: &str, out: &mut String) -> Result<(), Unfilled> {
        match text {
            "$event" => compact_json(self.event, out),
            "$event_ref" => out.push_str(&self.reference().to_string()),
            "$delivery.id" => quote(self.delivery_id, out),
            _ => match text.strip_prefix("$event.").or_else(|| whole(text)) {
                Some(path) => compact_json(self.get(path)?, out),
                None => quote(&self.inline(text)?, out),
            },
        }
        Ok(())
    }

    fn inline(&self, text: &str) -> Result<String, Unfilled> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, path, after)) = next_placeholder(rest) {
            filled.push_str(before);
            let value = self.get(path)?;
            match serde_json::from_str::<String>(value) {
                Ok(text) => filled.push_str(&text),
                Err(_) => compact_json(value, &mut filled),
            }
            bounded(&filled)?;
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn get(&self, path: &str) -> Result<&'a str, Unfilled> {
        let found = self.find(path);
        found.ok_or_else(|| Unfilled::Missing(format!("event.{path}")))
    }

    /// Returns the JSON at a path, which may have any form of [`path`].
    fn find(&self, path: &str) -> Option<&'a str> {
        let plain = self.follow(path.split('.'));
        plain.or_else(|| self.follow(path::steps(path)?.iter().map(AsRef::as_ref)))
    }

    /// Parses each value on the way once, however many paths lead through it.
    fn follow<'s>(&self, steps: impl Iterator<Item = &'s str>) -> Option<&'a str> {
        let mut value = self.event;
        for step in steps {
            let parts = self.parts_of(value);
            value = match parts.as_ref() {
                Parts::Fields(fields) => fields.get(step)?,
                Parts::Items(items) => items.get(path::place(step)?)?,
                Parts::None => return None,
            }
            .get();
        }
        Some(value)
    }

    fn parts_of(&self, value: &'a str) -> Rc<Parts<'a>> {
        let mut known = self.parts.borrow_mut();
        if let Some(parts) = known.get(&value.as_ptr()) {
            return Rc::clone(parts);
        }
        let parts = match value.trim_start().as_bytes().first() {
            Some(b'{') => serde_json::from_str(value).map_or(Parts::None, Parts::Fields),
            Some(b'[') => serde_json::from_str(value).map_or(Parts::None, Parts::Items),
            _ => Parts::None,
        };
        let parts = Rc::new(parts);
        known.insert(value.as_ptr(), Rc::clone(&parts));
        parts
    }
}

fn bounded(filled: &str) -> Result<(), Unfilled> {
    match filled.len() > MAX_FILLED_BYTES {
        true => Err(Unfilled::TooLarge),
        false => Ok(()),
    }
}

fn separate(place: usize, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
}

fn quote(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

/// Returns the path of a text that is a single `{{ event.<path> }}`.
fn whole(text: &str) -> Option<&str> {
    match next_placeholder(text)? {
        ("", path, "") => Some(path),
        _ => None,
    }
}

/// Finds the first `{{ event.<path> }}` of a text; returns the text before it, the path, and the text after
/// it.
fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (mut from, mut close) = (0, 0);
    loop {
        let open = from + text.get(from..)?.find("{{")?;
        let start = open + 2;
        // Sought once for all braces before it: a text may have many.
        if close < start {
            close = start + text.get(start..)?.find("}}")?;
        }
        let name = text.get(start..close)?.trim_start();
        match name.strip_prefix("event.").map(str::trim_end) {
            Some(path) if !path.is_empty() => {
                return Some((text.get(..open)?, path, text.get(close + 2..)?));
            }
            // Other braces stay unchanged.
            _ => from = open + 2,
        }
    }
}

/// Returns the paths into the event that the texts of a template name.
pub fn event_paths(template: &Value) -> Vec<&str> {
    let mut paths = Vec::new();
    let mut open = vec![template];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                paths.extend(text.strip_prefix("$event."));
                let mut rest = text.as_str();
                while let Some((_, path, after)) = next_placeholder(rest) {
                    paths.push(path);
                    rest = after;
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    paths
}

/// Fails with 400 for a template with a fault that no event can repair, such as `$event.` without a path.
/// `field` is the name of the value for the caller.
pub fn check(field: &str, template: &Value) -> Checked<()> {
    match template {
        Value::String(text) => check_text(field, text),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(place, item)| check(&format!("{field}[{place}]"), item))
        }
        Value::Object(fields) => check_fields(field, fields),
        _ => Ok(()),
    }
}

/// Checks every value of an object.
pub fn check_fields(field: &str, fields: &Map<String, Value>) -> Checked<()> {
    let mut fields = fields.iter();
    fields.try_for_each(|(name, value)| check(&format!("{field}.{name}"), value))
}

fn check_text(field: &str, text: &str) -> Checked<()> {
    if let Some(path) = text.strip_prefix("$event.") {
        return path::check(field, path).map_err(|_| refused(field, text));
    }
    let unknown = text.strip_prefix("$delivery.").is_some_and(|name| name != "id");
    if unknown || text.starts_with("$event_ref.") {
        return Err(refused(field, text));
    }
    let mut rest = text;
    while let Some((_, path, after)) = next_placeholder(rest) {
        path::check(field, path).map_err(|_| refused(field, text))?;
        rest = after;
    }
    Ok(())
}

fn refused(field: &str, text: &str) -> platform::Error {
    let text: String = text.chars().take(100).collect();
    platform::Error::invalid_field(
        field,
        format!(
            "has '{text}', which is no template; there are $event, $event.<path>, {{{{ event.<path> }}}}, $event_ref \
         and $delivery.id, where a path is as in details.payload.id."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn fill(template: Value) -> Result<Value, Unfilled> {
        let event = json!({
            "event_id": "e1", "event_category": "external", "action": "opened", "resource_type": "issue", "resource_id": "7",
            "details": {"n": 1.5, "list": [1, {"x": null}], "text": "a {{ event.action }} b", "yes": true, "none": ""},
        });
        let event = event.to_string();
        let filled = Filling::new(&event, "d1").fill(&template)?;
        Ok(serde_json::from_str(&filled).unwrap())
    }

    #[test]
    fn values_keep_their_types() {
        let filled = fill(json!({
            "a": "$event.details.n",
            "b": ["{{ event.details.list }}", "{{event.details.yes}}", 3, null],
            "c": "$delivery.id",
            "d": "$event_ref",
            "e": "$event.details.list.1.x",
        }));
        assert_eq!(
            filled.unwrap(),
            json!({
                "a": 1.5,
                "b": [[1, {"x": null}], true, 3, null],
                "c": "d1",
                "d": {"event_id": "e1", "event_category": "external", "action": "opened", "resource_type": "issue", "resource_id": "7"},
                "e": null,
            })
        );
        assert_eq!(fill(json!("$event")).unwrap()["event_id"], "e1");
    }

    #[test]
    fn within_a_text_they_are_text() {
        for (template, filled) in [
            ("was {{ event.action }}!", "was opened!"),
            ("{{event.resource_id}}{{event.details.n}}", "71.5"),
            ("{{ event.details.list }} ", "[1,{\"x\":null}] "),
            // Inserted text is not filled again.
            ("{{ event.details.none }}{{ event.details.n }}", "1.5"),
            ("<{{ event.details.text }}>", "<a {{ event.action }} b>"),
            (
                "{{ other }} {{}} {{ event. }} }} {{",
                "{{ other }} {{}} {{ event. }} }} {{",
            ),
            ("$eventual", "$eventual"),
            ("a $event.action", "a $event.action"),
        ] {
            assert_eq!(fill(json!(template)).unwrap(), json!(filled), "{template}");
        }
    }

    #[test]
    fn what_leads_to_nothing_is_an_error() {
        for template in [
            "$event.details.nothing",
            "{{ event.nothing }}",
            "x {{ event.details.list.9 }}",
        ] {
            assert!(fill(json!({"deep": [template]})).is_err(), "{template}");
        }
        assert_eq!(
            fill(json!("$event.a.b")).unwrap_err().to_string(),
            "the template names 'event.a.b', which the event does not have"
        );
    }

    #[test]
    fn numbers_keep_their_digits_and_blanks_go() {
        let event = r#"{"details": { "n": 12345678901234567890123.000100, "o": { "t" : "a \" b", "l": [ 1.0, 2 ] } }}"#;
        let filling = Filling::new(event, "d1");
        for (template, filled) in [
            ("$event.details.n", "12345678901234567890123.000100"),
            ("{{  event.details.n  }}", "12345678901234567890123.000100"),
            ("n={{ event.details.n }}", r#""n=12345678901234567890123.000100""#),
            ("$event.details.o", r#"{"t":"a \" b","l":[1.0,2]}"#),
            ("o={{event.details.o.l}}", r#""o=[1.0,2]""#),
            ("{{ event.details.o.t }}.", r#""a \" b.""#),
        ] {
            assert_eq!(filling.fill(&json!(template)).unwrap(), filled, "{template}");
        }
    }

    #[test]
    fn no_template_makes_more_than_a_run_takes() {
        let event = json!({ "details": "x".repeat(200_000) }).to_string();
        let filling = Filling::new(&event, "d1");
        let many = json!(vec!["$event"; 7_000]);
        assert_eq!(filling.fill(&many), Err(Unfilled::TooLarge));
        let inline = json!("{{ event.details }}".repeat(3_000));
        assert_eq!(filling.fill(&inline), Err(Unfilled::TooLarge));
    }

    #[test]
    fn a_fault_that_no_event_mends_is_refused() {
        for template in [
            "$event.",
            "$event.a..b",
            "$event..a",
            "x {{ event.a. }}",
            "$delivery.attempt",
            "$event_ref.event_id",
        ] {
            let refusal = check("target.data", &json!({ "list": [1, template] })).unwrap_err();
            let message = refusal.message();
            assert!(
                message.starts_with(&format!("The field 'target.data.list[1]' has '{template}'")),
                "{message}"
            );
        }
        let taken = json!([
            "$event",
            "$eventual",
            "{{ other }}",
            "$event.nope",
            "{{ event.a.0 }}!",
            7
        ]);
        check("target.data", &taken).unwrap();
    }

    proptest! {
        /// Text without templates stays unchanged.
        #[test]
        fn any_text_is_filled(text in "[a-z {}$.]{0,24}") {
            let filled = fill(json!(text));
            if !text.contains("event") {
                prop_assert_eq!(filled.unwrap(), json!(text));
            }
        }

        #[test]
        fn parts_are_filled_one_by_one(before in "[a-z {]{0,6}", after in "[a-z }]{0,6}") {
            let filled = fill(json!(format!("{before}x{{{{ event.action }}}}x{after}"))).unwrap();
            prop_assert_eq!(filled, json!(format!("{before}xopenedx{after}")));
        }
    }
}
