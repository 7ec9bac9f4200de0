//! Defines the workflow type and its signals.

use serde_json::value::RawValue;
use workflow::WorkflowType;

/// Input and result are any JSON; numbers keep all their digits.
pub const WORKFLOW_TYPE: WorkflowType<Box<RawValue>, Box<RawValue>> = WorkflowType::new("Process")
    .signals(&[APPROVE, EVENT])
    .queries(&["__state"]);
/// Signal that approves a task of a supervised run.
pub const APPROVE: &str = "Approve";
/// Signal that delivers an event to the tasks `listen`.
pub const EVENT: &str = "Event";
