//! Defines the workflow type and its signals.

use events::listening::EVENT_SIGNAL;
use events::target::PROCESS_TYPE;
use serde_json::value::RawValue;
use workflow::WorkflowType;

/// Input and result are any JSON; numbers keep all their digits.
pub const WORKFLOW_TYPE: WorkflowType<Box<RawValue>, Box<RawValue>> = WorkflowType::new(PROCESS_TYPE)
    .signals(&[APPROVE, EVENT_SIGNAL])
    .queries(&["__state"]);
/// Signal that approves a task of a supervised run.
pub const APPROVE: &str = "Approve";
