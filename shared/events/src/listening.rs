//! Finds the listening processes that an event may concern, and converts the event for them.
//!
//! Only the constants of a listener's filters are compared here, so that few runs are signalled without need.
//! A run evaluates its whole filter itself: the result here only says that an event may fit.

use std::collections::BTreeMap;

use platform::Result;
use platform::records::listeners::Listener;
use process::Data;
use process::definition::{EventFilter, Strategy, Template, Until};
use process::flow::matches;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::envelope::{Envelope, raw};

/// Signal that delivers an event to a run; its body is a [`CloudEvent`].
pub const EVENT_SIGNAL: &str = "Event";
/// Attribute that is large and not compared here.
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

    /// Returns the attributes without the data, for [`may_fit`].
    pub fn attributes(&self) -> Result<Data> {
        let whole = match self {
            Self::Emitted(emitted) => (*emitted).to_owned(),
            Self::Platform(event) => raw(&PlatformEvent {
                data: None,
                kind: event.kind.clone(),
                ..*event
            })?,
        };
        let whole = Data::from_raw(whole).map_err(platform::Error::internal)?;
        let fields = whole.fields().unwrap_or_default();
        Ok(Data::object(fields.into_iter().filter(|(name, _)| name != DATA)))
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
    let constant = |(name, template): &(String, Template)| {
        let constant = template.constant().filter(|_| name != DATA)?;
        Some((name.clone(), constant.as_raw().to_owned()))
    };
    filter.with.iter().filter_map(constant).collect()
}

/// Returns whether an event with these attributes may fit a listener.
pub fn may_fit(listener: &Listener, attributes: &Data) -> bool {
    // The run decides about a filter that cannot be parsed here.
    let Ok(filters) = serde_json::from_str::<Vec<BTreeMap<String, Value>>>(&listener.filter) else {
        return true;
    };
    let fits = |filter: &BTreeMap<String, Value>| {
        let with = filter.iter().filter(|(name, _)| *name != DATA);
        let with = with.map(|(name, value)| (name.clone(), Template::Constant(Data::from(value))));
        let filter = EventFilter {
            with: with.collect(),
            correlate: Vec::new(),
        };
        matches(&filter, attributes, &[])
    };
    filters.is_empty() || filters.iter().any(fits)
}

#[cfg(test)]
mod tests {
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
        let attributes = event.attributes().unwrap();
        assert!(attributes.field("data").is_none());
        assert!(may_fit(
            &listener(r#"[{"type":"com.shop.paid","level":7}]"#),
            &attributes
        ));
        assert!(!may_fit(&listener(r#"[{"type":"external.paid"}]"#), &attributes));
    }

    fn listener(filter: &str) -> Listener {
        Listener {
            run_id: "r".to_owned(),
            listener_id: "l".to_owned(),
            filter: filter.to_owned(),
            created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        }
    }

    #[test]
    fn an_event_is_told_as_a_cloud_event() {
        let envelope = envelope();
        let told: Value = serde_json::to_value(CloudEvent::new(&envelope)).unwrap();
        assert_eq!(told["specversion"], "1.0");
        assert_eq!(told["id"], "e1");
        assert_eq!(told["source"], "external:shop");
        assert_eq!(told["type"], "external.paid");
        assert_eq!(told["subject"], "o1");
        assert_eq!(told["time"], told["data"]["timestamp"]);
        assert_eq!(told["data"]["details"]["n"], 1);
    }

    #[test]
    fn the_constants_of_a_filter_decide() {
        let envelope = envelope();
        let attributes = CloudEvent::new(&envelope).attributes().unwrap();
        for (filter, fits) in [
            ("[]", true),
            ("[{}]", true),
            (r#"[{"type":"external.paid"}]"#, true),
            (r#"[{"type":"external\\..*","source":"external:shop"}]"#, true),
            (r#"[{"type":"external.sent"},{"subject":"o1"}]"#, true),
            (r#"[{"type":"external.sent"}]"#, false),
            (r#"[{"type":"external.paid","source":"other"}]"#, false),
            (r#"[{"unknown":"x"}]"#, false),
            // The run compares the data itself.
            (r#"[{"data":{"n":7}}]"#, true),
            ("no JSON", true),
        ] {
            assert_eq!(may_fit(&listener(filter), &attributes), fits, "{filter}");
        }
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
