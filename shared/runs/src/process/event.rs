//! Publishes the events of a process on the platform's bus, and reads the events that it receives.

use events::document_processed::{CLOUD_EVENT_TYPE, ProcessedDocument};
use events::envelope::{Category, Envelope, RawObject, raw};
use events::listening::{CLOUD_EVENT, PROCESS_SOURCE};
use platform::http::parse_part;
use platform::{Error, Result};
use process::Data;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use workflow::{ActivityContext, ActivityType, Failure};

use super::services::ProcessServices;
use crate::document_processed::DocumentEvents;

pub(super) const EMIT: ActivityType<Emitted, ()> = ActivityType::new("process_emit");

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Emitted {
    /// Event id on the bus, the same in each attempt.
    pub id: String,
    pub kind: String,
    /// Namespace and name of the process.
    pub process: String,
    /// Event with the attributes of CloudEvents.
    pub event: Box<RawValue>,
}

/// Reads the event from a signal: its field `event`, its `message` where that is an object, or the whole
/// body.
pub(super) fn event_of(body: &Data) -> Option<Data> {
    let named = ["event", "message"]
        .into_iter()
        .find_map(|name| body.field(name).filter(Data::is_object));
    named.or_else(|| Some(body.clone()).filter(Data::is_object))
}

/// Publishes an event. An event of the type `content.document_processed` is about a document; any other is
/// about the run.
pub(super) async fn emit(
    services: ProcessServices,
    context: ActivityContext,
    emitted: Emitted,
) -> std::result::Result<(), Failure> {
    if emitted.kind == CLOUD_EVENT_TYPE {
        let documents = DocumentEvents::new(services.publisher, services.clock);
        let source = source(&emitted);
        let document = document(&emitted)?;
        return Ok(documents
            .publish_as(&context, &document, &emitted.id, &source)
            .await?);
    }
    let envelope = envelope(&context, &emitted)?;
    let now = services.clock.now();
    let published = services
        .publisher
        .publish_of_run(&context.tenant, envelope, context.origin(), now);
    Ok(published.await?)
}

fn source(emitted: &Emitted) -> String {
    format!("{PROCESS_SOURCE}{}", emitted.process)
}

/// Returns the document of an event: its `subject`, with the event's `data` as details and `resourcedata` as
/// properties.
fn document(emitted: &Emitted) -> Result<ProcessedDocument> {
    let event: Value = serde_json::from_str(emitted.event.get()).map_err(Error::internal)?;
    let Some(subject) = event.get("subject").and_then(Value::as_str) else {
        return Err(Error::invalid(format!(
            "The 'subject' of an event of the type '{CLOUD_EVENT_TYPE}' is the id of the document."
        )));
    };
    let object = || Value::Object(Map::new());
    let data = event.get("data").cloned().unwrap_or_else(object);
    let resource_data = event.get("resourcedata").cloned().unwrap_or_else(object);
    let data: Map<String, Value> = parse_part("data", data)?;
    let document = ProcessedDocument {
        document_id: subject.to_owned(),
        resource_data: parse_part("resourcedata", resource_data)?,
        details: parse_part("data", Value::Object(data.clone()))?,
    };
    only_known(&data, &document)?;
    Ok(document)
}

/// Rejects unknown fields of the details with 400: a misspelt field would be ignored without notice.
fn only_known(data: &Map<String, Value>, document: &ProcessedDocument) -> Result<()> {
    let known = serde_json::to_value(&document.details).map_err(Error::internal)?;
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let unknown = data
        .iter()
        .filter(|(name, value)| !is_empty(value) && *name != "schema_version")
        .find(|(name, _)| known.get(name).is_none());
    match unknown {
        None => Ok(()),
        Some((name, _)) => Err(Error::invalid(format!(
            "The details of a processed document have no field '{name}'."
        ))),
    }
}

fn envelope(context: &ActivityContext, emitted: &Emitted) -> Result<Envelope> {
    let event = Data::from_raw(emitted.event.clone()).map_err(Error::internal)?;
    let mut details = RawObject::new();
    // External senders have their data in the same place, so that one condition fits both.
    let payload = event.field("data").unwrap_or_else(Data::null);
    details.insert(events::envelope::PAYLOAD.to_owned(), payload.as_raw().to_owned());
    details.insert(CLOUD_EVENT.to_owned(), emitted.event.clone());
    details.insert("workflow_id".to_owned(), raw(&context.workflow_id)?);
    details.insert("workflow_run_id".to_owned(), raw(&context.run_id)?);
    Ok(Envelope {
        event_id: emitted.id.clone(),
        event_category: Category::Workflow,
        action: emitted.kind.clone(),
        resource_type: "workflow_run".to_owned(),
        resource_id: context.run_id.clone(),
        account_id: context.tenant.account().to_owned(),
        project_id: context.tenant.project().to_owned(),
        tenant_id: None,
        timestamp: context.scheduled_at,
        source: source(emitted),
        resource_data: RawObject::new(),
        details,
        meters: Vec::new(),
        traceparent: None,
        tracestate: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn emitted(event: &Value) -> Emitted {
        Emitted {
            id: "e1".to_owned(),
            kind: CLOUD_EVENT_TYPE.to_owned(),
            process: "shop/invoices".to_owned(),
            event: raw(event).unwrap(),
        }
    }

    #[test]
    fn an_event_of_a_document_is_read() {
        let event = json!({
            "subject": "invoice-7", "resourcedata": { "metadata": { "type": "invoice" } },
            "data": { "schema_version": 1, "page_count": 3, "models_used": [], "verdict": null },
        });
        let read = document(&emitted(&event)).unwrap();
        assert_eq!(read.document_id, "invoice-7");
        assert_eq!(read.resource_data["metadata"]["type"], "invoice");
        assert_eq!(read.details.page_count, Some(3));
    }

    #[test]
    fn invalid_document_events_are_refused_with_the_position() {
        for (event, why) in [
            (json!({ "data": {} }), "'subject'"),
            (json!({ "subject": 7 }), "'subject'"),
            (
                json!({ "subject": "d", "data": { "page_count": -1 } }),
                "$.data.page_count",
            ),
            (
                json!({ "subject": "d", "data": { "pageCount": 1 } }),
                "'pageCount'",
            ),
            (json!({ "subject": "d", "data": [] }), "$.data"),
            (json!({ "subject": "d", "resourcedata": "x" }), "$.resourcedata"),
        ] {
            let refusal = document(&emitted(&event)).unwrap_err();
            assert!(refusal.message().contains(why), "{event}: {refusal}");
        }
    }
}
