//! Builds the platform's events about runs: started, and ended.

use events::action::RunAction;
use events::document_processed::CONTENT_OBJECT;
use events::envelope::{Category, Envelope, RawObject, raw};
use events::records::events::EventRecord;
use platform::Result;
use platform::trace::TraceLink;

use crate::draft::{Draft, NewEvent};
use crate::event::EventKind;
use crate::payload::Payload;
use crate::state::RunState;
use crate::views::RunFailure;

/// Upper limit of a failure's details in an event, in bytes: the bus accepts 256 KB. The run keeps the
/// details whole.
const MAX_FAILURE_DETAILS_BYTES: usize = 16_384;

/// Returns the envelope of an event about a run, as JSON. `failure` is the reason of the end.
fn envelope(state: &RunState, event: &NewEvent, failure: Option<&RunFailure>) -> Result<String> {
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
    let ended = state.closed_at.filter(|_| event.action != RunAction::Started);
    if let Some(closed_at) = ended {
        detail("status", raw(&state.status.as_str()))?;
        detail("duration_ms", raw(&closed_at.millis_since(state.started_at)))?;
        if let Some(failure) = failure {
            detail("error", raw(failure))?;
        }
    }
    // The events of a run about a document name the document as their resource.
    let (resource_type, resource_id) = match &state.about.document_id {
        Some(document) => (CONTENT_OBJECT, document),
        None => ("workflow_run", &state.run_id),
    };
    let link = state.position().map(TraceLink::from);
    let envelope = Envelope {
        event_id: event.id.clone(),
        event_category: Category::Workflow,
        action: event.action.as_str().to_owned(),
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
        traceparent: link.as_ref().map(|link| link.traceparent.clone()),
        tracestate: link.and_then(|link| link.tracestate),
    };
    envelope.to_json()
}

/// Returns the records of the events that a change causes.
pub(super) fn written(draft: &Draft) -> Result<Vec<EventRecord>> {
    let failure = failure_of(draft);
    let written = draft.events.iter().map(|event| {
        Ok(EventRecord {
            id: event.id.clone(),
            envelope: envelope(&draft.state, event, failure.as_ref())?,
            details_key: None,
            received_at: draft.now,
            private_to: draft.state.about.private_to().map(str::to_owned),
            lineage: draft.state.lineage.clone(),
            addressee: None,
            matched_at: None,
        })
    });
    written.collect()
}

/// Returns the reason of an end, as the run's `error` shows it.
fn failure_of(draft: &Draft) -> Option<RunFailure> {
    let mut ends = draft.new_events().iter().rev().map(|event| &event.kind);
    let mut end = ends.find(|kind| RunFailure::of_end(kind).is_some())?.clone();
    if let EventKind::WorkflowExecutionFailed { failure } = &mut end {
        let fits = |details: &Payload| details.bytes() <= MAX_FAILURE_DETAILS_BYTES;
        failure.details = failure.details.take().filter(fits);
    }
    RunFailure::of_end(&end)
}
