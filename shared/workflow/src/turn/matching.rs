//! Compares and describes commands.

use crate::event::EventKind;

/// Whether a command ends an operation.
pub(super) fn is_ending(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ActivityTaskCanceled { .. }
            | EventKind::TimerCanceled { .. }
            | EventKind::RequestCancelExternalWorkflowExecutionInitiated { .. }
    )
}

/// Sets the id of the starting event in the command that ends the operation.
pub(super) fn name_beginning(kind: &mut EventKind, event: u64) {
    match kind {
        EventKind::ActivityTaskCanceled { scheduled_event_id } => *scheduled_event_id = event,
        EventKind::TimerCanceled { started_event_id } => *started_event_id = event,
        EventKind::RequestCancelExternalWorkflowExecutionInitiated { initiated_event_id } => {
            *initiated_event_id = event;
        }
        _ => {}
    }
}

/// Whether two commands are the same. Inputs, results and limits may differ, so that code may correct them
/// while its runs are open.
pub(super) fn same(asked: &EventKind, had: &EventKind) -> bool {
    use EventKind as K;
    match (asked, had) {
        (
            K::ActivityTaskScheduled {
                activity_id, name, ..
            },
            K::ActivityTaskScheduled {
                activity_id: had_id,
                name: had_name,
                ..
            },
        ) => activity_id == had_id && name == had_name,
        (K::TimerStarted { timer_id, .. }, K::TimerStarted { timer_id: had, .. }) => timer_id == had,
        (
            K::StartChildWorkflowExecutionInitiated {
                workflow_id,
                workflow_type,
                ..
            },
            K::StartChildWorkflowExecutionInitiated {
                workflow_id: had_id,
                workflow_type: had_type,
                ..
            },
        ) => workflow_id == had_id && workflow_type == had_type,
        (K::MarkerRecorded { name, .. }, K::MarkerRecorded { name: had, .. }) => name == had,
        (asked, had) if is_ending(asked) => asked == had,
        (asked, had) => std::mem::discriminant(asked) == std::mem::discriminant(had),
    }
}

/// Describes a command for people.
pub(super) fn describe(kind: &EventKind) -> String {
    let detail = match kind {
        EventKind::ActivityTaskScheduled {
            activity_id, name, ..
        } => format!(" of '{name}' (id {activity_id})"),
        EventKind::TimerStarted {
            timer_id,
            fire_after_ms,
        } => format!(" of {fire_after_ms} ms (id {timer_id})"),
        EventKind::StartChildWorkflowExecutionInitiated {
            workflow_id,
            workflow_type,
            ..
        } => format!(" of '{workflow_type}' (workflow id {workflow_id})"),
        EventKind::MarkerRecorded { name, result: None } => format!(" of the patch '{name}'"),
        EventKind::MarkerRecorded { name, .. } => format!(" of '{name}'"),
        EventKind::ActivityTaskCanceled {
            scheduled_event_id: event,
        }
        | EventKind::TimerCanceled {
            started_event_id: event,
        }
        | EventKind::RequestCancelExternalWorkflowExecutionInitiated {
            initiated_event_id: event,
        } => format!(" of event {event}"),
        _ => String::new(),
    };
    format!("{}{detail}", kind.name())
}
