//! Finds the listening processes that an event may concern, and converts the event for them.
//!
//! Only the constants of a listener's filters are compared here, so that few runs are signalled without need.
//! A run evaluates its whole filter itself: the result here only says that an event may fit.

mod filters;

use std::collections::BTreeMap;

use platform::Result;
use process::definition::{EventFilter, ExpectedAttribute, Strategy, Until};
use serde::Serialize;
use serde_json::value::RawValue;

pub use self::filters::ListenerFilters;
use crate::envelope::{Envelope, raw};

/// Signal that delivers an event to a run; its body is a [`CloudEvent`].
pub const EVENT_SIGNAL: &str = "Event";
/// Attribute that is large, and compared by the run alone.
const DATA: &str = "data";

/// Prefix of the source of events that processes publish.
pub const PROCESS_SOURCE: &str = "process:";
/// Name in `details` of the original event of a process.
pub const CLOUD_EVENT: &str = "cloud_event";

/// An event in the form of CloudEvents 1.0. A run may receive an event twice, with the same `id`.
#[derive(Serialize)]
#[serde(untagged)]
pub enum CloudEvent<'a> {
    /// An event that a process published, unchanged.
    Emitted(&'a RawValue),
    Platform(PlatformEvent<'a>),
}

/// An event of the platform in the form of a CloudEvent.
#[derive(Serialize)]
pub struct PlatformEvent<'a> {
    specversion: &'static str,
    id: &'a str,
    source: &'a str,
    /// Category and action, such as `external.received`.
    #[serde(rename = "type")]
    kind: String,
    subject: &'a str,
    time: platform::UtcTime,
    datacontenttype: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Envelope>,
}

impl<'a> CloudEvent<'a> {
    /// Converts an event for listeners.
    pub fn new(envelope: &'a Envelope) -> Self {
        if envelope.source.starts_with(PROCESS_SOURCE)
            && let Some(emitted) = envelope.details.get(CLOUD_EVENT)
        {
            return Self::Emitted(emitted);
        }
        Self::Platform(PlatformEvent {
            specversion: "1.0",
            id: &envelope.event_id,
            source: &envelope.source,
            kind: format!("{}.{}", envelope.event_category.as_str(), envelope.action),
            subject: &envelope.resource_id,
            time: envelope.timestamp,
            datacontenttype: "application/json",
            data: Some(envelope),
        })
    }

    /// Returns the event for [`ListenerFilters`], which compares no data.
    pub fn attributes(&self) -> Result<Box<RawValue>> {
        match self {
            Self::Emitted(emitted) => Ok((*emitted).to_owned()),
            Self::Platform(event) => raw(&PlatformEvent {
                data: None,
                kind: event.kind.clone(),
                ..*event
            }),
        }
    }
}

/// Builds the filter of a listener from the strategy of a task.
pub fn filter_of(strategy: &Strategy) -> String {
    let mut filters = Vec::new();
    match collect(strategy, &mut filters) {
        true => serde_json::to_string(&filters).unwrap_or_else(|_| "[]".to_owned()),
        false => "[]".to_owned(),
    }
}

type Constants = BTreeMap<String, Box<RawValue>>;

/// Adds the filters of a strategy. Returns false where the strategy takes any event.
fn collect(strategy: &Strategy, into: &mut Vec<Constants>) -> bool {
    let filters = match strategy {
        Strategy::One(filter) => std::slice::from_ref(filter),
        Strategy::All(filters) | Strategy::Any { filters, .. } => filters,
    };
    into.extend(filters.iter().map(constants));
    let bounded = match strategy {
        Strategy::Any {
            until: Some(Until::Events(until)),
            ..
        } => collect(until, into),
        _ => true,
    };
    bounded && !filters.is_empty()
}

fn constants(filter: &EventFilter) -> Constants {
    let constant = |ExpectedAttribute { name, template, .. }: &ExpectedAttribute| {
        let constant = template.constant().filter(|_| name != DATA)?;
        Some((name.clone(), constant.as_raw().to_owned()))
    };
    filter.with.iter().filter_map(constant).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn envelope() -> Envelope {
        Envelope::parse(
            r#"{"event_id":"e1","event_category":"external","action":"paid","resource_type":"order","resource_id":"o1",
            "account_id":"acme","project_id":"demo","timestamp":"2026-01-02T03:04:05Z","source":"external:shop","details":{"n":1}}"#,
        )
        .unwrap()
    }

    #[test]
    fn an_event_of_a_process_is_told_as_the_process_made_it() {
        let mut envelope = envelope();
        envelope.source = "process:shop/order".to_owned();
        let emitted =
            r#"{"id":"1","type":"com.shop.paid","source":"https://shop.example","level":7,"data":{"n":2}}"#;
        let raw = RawValue::from_string(emitted.to_owned()).unwrap();
        envelope.details.insert(CLOUD_EVENT.to_owned(), raw);
        let event = CloudEvent::new(&envelope);
        assert_eq!(serde_json::to_string(&event).unwrap(), emitted);
        assert_eq!(event.attributes().unwrap().get(), emitted);
    }

    #[test]
    fn an_event_is_told_as_a_cloud_event() {
        let envelope = envelope();
        let event = CloudEvent::new(&envelope);
        let attributes: Value = serde_json::from_str(event.attributes().unwrap().get()).unwrap();
        assert_eq!(attributes["type"], "external.paid");
        assert!(attributes.get("data").is_none());
        let told: Value = serde_json::to_value(event).unwrap();
        assert_eq!(told["specversion"], "1.0");
        assert_eq!(told["id"], "e1");
        assert_eq!(told["source"], "external:shop");
        assert_eq!(told["type"], "external.paid");
        assert_eq!(told["subject"], "o1");
        assert_eq!(told["time"], told["data"]["timestamp"]);
        assert_eq!(told["data"]["details"]["n"], 1);
    }

    #[test]
    fn the_filter_of_a_task_has_its_constants() {
        for (to, filter) in [
            (
                r#"{"one":{"with":{"type":"a.b","data":{"n":1},"source":"${ .x }"}}}"#,
                r#"[{"type":"a.b"}]"#,
            ),
            (
                r#"{"any":[{"with":{"type":"a"}}],"until":{"one":{"with":{"type":"b"}}}}"#,
                r#"[{"type":"a"},{"type":"b"}]"#,
            ),
            (r#"{"any":[]}"#, "[]"),
            (
                r#"{"all":[{"with":{"type":"a"}},{"with":{"subject":"s"}}]}"#,
                r#"[{"type":"a"},{"subject":"s"}]"#,
            ),
        ] {
            let text = format!(
                r#"{{"document":{{"dsl":"1.0.0","namespace":"a","name":"b","version":"1.0.0"}},"do":[{{"wait":{{"listen":{{"to":{to}}}}}}}]}}"#
            );
            let definition = process::check(&text).unwrap();
            let process::definition::Work::Listen(listen) = &definition.tasks[0].work else {
                panic!("{text}")
            };
            assert_eq!(filter_of(&listen.strategy), filter, "{to}");
        }
    }
}
