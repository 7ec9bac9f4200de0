//! Templates of events: data in which parts of an event are put.
//!
//! `$event.<path>`, or `{{ event.<path> }}` as a whole text, is the value with its type; within a text it is put in as text. `$event` is
//! the whole event, `$event_ref` what it is known by, `$delivery.id` the delivery's id. What leads to nothing is an error: whoever wrote
//! the template counted on it.

use serde_json::{Map, Value, json};

use crate::path;

/// Part of a template that leads to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the template names '{0}', which the event does not have")]
pub struct Missing(pub String);

/// What templates are filled with.
#[derive(Clone, Copy, Debug)]
pub struct Filling<'a> {
    /// The event's envelope.
    pub event: &'a Value,
    /// The delivery's id.
    pub delivery_id: &'a str,
}

impl Filling<'_> {
    /// Fills every text in a value.
    pub fn fill(&self, template: &Value) -> Result<Value, Missing> {
        match template {
            Value::String(text) => self.fill_text(text),
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                let filled = fields.map(|(name, value)| Ok((name.clone(), self.fill(value)?)));
                filled.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
            other => Ok(other.clone()),
        }
    }

    fn fill_text(&self, text: &str) -> Result<Value, Missing> {
        match text {
            "$event" => return Ok(self.event.clone()),
            "$event_ref" => return Ok(self.reference()),
            "$delivery.id" => return Ok(Value::from(self.delivery_id)),
            _ => {}
        }
        if let Some(path) = text.strip_prefix("$event.") {
            return self.find(path).cloned();
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, path, after)) = next_placeholder(rest) {
            let value = self.find(path)?;
            if before.is_empty() && after.is_empty() && rest.len() == text.len() {
                return Ok(value.clone());
            }
            filled.push_str(before);
            match value {
                Value::String(text) => filled.push_str(text),
                other => filled.push_str(&other.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }

    fn find(&self, path: &str) -> Result<&Value, Missing> {
        path::find(self.event, path).ok_or_else(|| Missing(format!("event.{path}")))
    }

    /// What an event is known by.
    fn reference(&self) -> Value {
        let named = |name: &str| self.event.get(name).cloned().unwrap_or_default();
        json!({
            "event_id": named("event_id"),
            "event_category": named("event_category"),
            "action": named("action"),
            "resource_type": named("resource_type"),
            "resource_id": named("resource_id"),
        })
    }
}

/// The first `{{ event.<path> }}` of a text: what is before it, the path, what is after it.
fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text.get(from..)?.find("{{")?;
        let inside = text.get(open + 2..)?;
        let close = inside.find("}}")?;
        let name = inside.get(..close)?.trim();
        match name.strip_prefix("event.") {
            Some(path) if !path.is_empty() => {
                return Some((text.get(..open)?, path, inside.get(close + 2..)?));
            }
            // Somebody else's braces.
            _ => from = open + 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(template: Value) -> Result<Value, Missing> {
        let event = json!({
            "event_id": "e1", "event_category": "external", "action": "opened", "resource_type": "issue", "resource_id": "7",
            "details": {"n": 1.5, "list": [1, {"x": null}], "text": "a {{ event.action }} b", "yes": true, "none": ""},
        });
        let filling = Filling {
            event: &event,
            delivery_id: "d1",
        };
        filling.fill(&template)
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
            // What is put in is not filled again.
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

    proptest! {
        /// Text without templates stays as it is, and no text is too strange.
        #[test]
        fn any_text_is_filled(text in "[a-z {}$.]{0,24}") {
            let filled = fill(json!(text));
            if !text.contains("event") {
                prop_assert_eq!(filled.unwrap(), json!(text));
            }
        }

        /// A text is filled part by part.
        #[test]
        fn parts_are_filled_one_by_one(before in "[a-z {]{0,6}", after in "[a-z }]{0,6}") {
            let filled = fill(json!(format!("{before}x{{{{ event.action }}}}x{after}"))).unwrap();
            prop_assert_eq!(filled, json!(format!("{before}xopenedx{after}")));
        }
    }
}
