//! Events of the platform about runs: that one began, that it ended.

use events::envelope::{Category, Envelope, RawObject, raw};
use platform::Result;
use platform::records::events::EventRecord;

use crate::draft::Draft;
use crate::state::RunState;

/// The envelope of an event about a run, as JSON.
fn envelope(state: &RunState, event_id: &str, action: &str) -> Result<String> {
    let mut details = RawObject::new();
    let mut detail = |name: &str, value: Result<_>| -> Result<()> {
        details.insert(name.to_owned(), value?);
        Ok(())
    };
    detail("workflow_type", raw(&state.workflow_type))?;
    detail("workflow_id", raw(&state.workflow_id))?;
    detail("workflow_run_id", raw(&state.run_id))?;
    detail("initiated_by", raw(&state.about.initiated_by))?;
    if let Some(rule_id) = &state.about.rule_id {
        detail("rule_id", raw(rule_id))?;
    }
    let ended = state.closed_at.filter(|_| action != STARTED);
    if let Some(closed_at) = ended {
        detail("status", raw(&state.status.as_str()))?;
        detail("duration_ms", raw(&closed_at.millis_since(state.started_at)))?;
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
        tenant_id: state.about.tenant_id.clone(),
        timestamp: ended.unwrap_or(state.started_at),
        source: "workflow".to_owned(),
        resource_data: RawObject::new(),
        details,
        meters: Vec::new(),
    };
    envelope.to_json()
}

/// The action of the event that a run began.
pub(super) const STARTED: &str = "workflow_started";

/// The events that a change brings, as they are written.
pub(super) fn written(draft: &Draft) -> Result<Vec<EventRecord>> {
    let written = draft.events.iter().map(|event| {
        Ok(EventRecord {
            id: event.id.clone(),
            envelope: envelope(&draft.state, &event.id, &event.action)?,
            details_key: None,
            received_at: draft.now,
            lineage: draft.state.lineage.clone(),
            matched_at: None,
        })
    });
    written.collect()
}
