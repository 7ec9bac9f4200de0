//! Defines what a turn reads and what it returns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use events::records::deliveries::{DeliveryAttempt, SemanticEvaluation};
use platform::UtcTime;
use serde_json::Value;

use crate::event::{Event, EventKind};
use crate::failure::Failure;
use crate::payload::Payload;

pub type Returned = Result<Payload, Failure>;

#[derive(Clone, Debug, PartialEq)]
pub struct NewUpdate {
    /// Such as `PROGRESS`.
    pub kind: String,
    /// Text for people.
    pub message: String,
    /// For programs.
    pub details: Option<Value>,
    /// Part of the run that the update is about.
    pub workstream_id: Option<String>,
}

/// Report of the code about the delivery that it carries out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// An ended attempt.
    pub attempt: Option<DeliveryAttempt>,
    /// None if no attempt follows, or one follows at once.
    pub next_attempt_at: Option<UtcTime>,
    /// Why the attempt failed, or why no attempt follows.
    pub last_error: Option<String>,
    /// Outcome of the semantic condition.
    pub semantic_evaluation: Option<SemanticEvaluation>,
}

#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// From the first event, without a gap.
    pub history: &'a [Event],
    /// Id of the last event that an earlier turn applied; the commands of that turn are in the history.
    pub processed: u64,
    /// Query to answer at the end.
    pub query: Option<&'a str>,
    /// Set after the time limit; the next command of the code then ends the turn.
    pub abort: Option<&'a Arc<AtomicBool>>,
}

#[derive(Debug, Default)]
pub struct Turn {
    /// New commands as events to append; the last one may end the run.
    pub events: Vec<EventKind>,
    pub updates: Vec<NewUpdate>,
    pub reports: Vec<DeliveryReport>,
    /// Answer to the query; None if the code has no such query.
    pub answer: Option<Result<Payload, Failure>>,
    /// What the code waits for, as text for people.
    pub waiting: Vec<String>,
    pub signals: BTreeSet<String>,
    pub queries: BTreeSet<String>,
    /// In the order of their arrival.
    pub unread_signals: Vec<(String, Payload)>,
}
