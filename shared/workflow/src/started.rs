//! The first event of a run: its type, its ids and its input.

use serde::{Deserialize, Serialize};

use crate::payload::Payload;

/// Longest reference to a program, in characters.
pub const MAX_PROGRAM_CHARACTERS: usize = 200;

/// The run that started a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentRef {
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
    /// The event of its history that asked for the child.
    pub initiated_event_id: u64,
}

/// How a run began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The registered type.
    pub workflow_type: String,
    /// The workflow id, which names the run and the ones that it goes on in.
    pub workflow_id: String,
    /// The run id.
    pub run_id: String,
    /// What the code is called with.
    pub input: Payload,
    /// Who started it.
    pub initiated_by: String,
    /// The run that started it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRef>,
    /// The run that goes on in this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<String>,
    /// How long the run may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What the run executes, where its type interprets programs: a reference of at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}
