//! Events of the platform about runs: that one began, that it ended.

use events::{Category, Envelope};
use platform::records::events::EventRecord;
use platform::{Error, Result};
use serde_json::{Map, Value, json};

use crate::draft::Draft;
use crate::state::RunState;

/// The envelope of an event about a run, as JSON. The same state gives the same text, so that it need not be kept to be sent.
pub(super) fn envelope(state: &RunState, event_id: &str, action: &str) -> Result<String> {
    let mut details = Map::from_iter([
        (
            "workflow_type".to_owned(),
            Value::from(state.workflow_type.as_str()),
        ),
        ("workflow_id".to_owned(), Value::from(state.workflow_id.as_str())),
        ("workflow_run_id".to_owned(), Value::from(state.run_id.as_str())),
    ]);
    let ended = state.closed_at.filter(|_| action != STARTED);
    if let Some(closed_at) = ended {
        details.insert("status".to_owned(), state.status.as_str().into());
        details.insert(
            "duration_ms".to_owned(),
            closed_at.millis_since(state.started_at).into(),
        );
    }
    for (name, value) in [
        ("rule_id", &state.about.rule_id),
        ("initiated_by", &Some(state.about.initiated_by.clone())),
    ] {
        if let Some(value) = value {
            details.insert(name.to_owned(), json!(value));
        }
    }
    // The events of a run about a document are about the document.
    let (resource_type, resource_id) = match &state.about.document_id {
        Some(document) => ("content_object", document),
        None => ("workflow_run", &state.run_id),
    };
    let envelope = Envelope {
        event_id: event_id.to_owned(),
        event_category: Category::Workflow,
        action: action.to_owned(),
        resource_type: resource_type.to_owned(),
        resource_id: resource_id.clone(),
        account_id: state.account.clone(),
        project_id: state.project.clone(),
        tenant_id: None,
        timestamp: ended.unwrap_or(state.started_at),
        source: "workflow".to_owned(),
        resource_data: Map::new(),
        details,
        meters: Vec::new(),
    };
    serde_json::to_string(&envelope).map_err(Error::internal)
}

/// The action of the event that a run began.
pub(super) const STARTED: &str = "workflow_started";

/// The events that a change brings, as they are written.
pub(super) fn written(draft: &Draft) -> Result<Vec<EventRecord>> {
    let written = draft.events.iter().map(|event| {
        Ok(EventRecord {
            id: event.id.clone(),
            envelope: envelope(&draft.state, &event.id, &event.action)?,
        })
    });
    written.collect()
}
