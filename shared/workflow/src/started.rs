//! Defines the first event of a run: its type, its ids and its input.

use serde::{Deserialize, Serialize};

use crate::payload::Payload;

pub const MAX_PROGRAM_CHARACTERS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentRef {
    pub workflow_id: String,
    pub run_id: String,
    /// Event of the parent's history that requested the child.
    pub initiated_event_id: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub workflow_type: String,
    /// Shared by the run and the runs that continue it.
    pub workflow_id: String,
    pub run_id: String,
    pub input: Payload,
    /// Reference of the starter.
    pub initiated_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRef>,
    /// Run that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Program, for a type that interprets programs: a reference of at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}
