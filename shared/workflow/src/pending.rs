//! Describes the activities, timers and child runs that a run waits for.

use platform::UtcTime;
use serde::{Deserialize, Serialize};

use crate::event::TimeoutKind;
use crate::failure::Failure;
use crate::options::{ActivityOptions, ParentClosePolicy};
use crate::payload::Payload;
use crate::stored_time::{millis, optional_millis};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingActivity {
    pub activity_id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "ActivityOptions::is_default")]
    pub options: ActivityOptions,
    #[serde(with = "millis")]
    pub scheduled_at: UtcTime,
    /// Number of the current or next attempt, from 1.
    pub attempt: u32,
    /// Start of the current attempt; None between attempts.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<UtcTime>,
    /// Worker that runs the current attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Earliest start of the next attempt.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<UtcTime>,
    /// Failure of the previous attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
    /// Time of the last heartbeat.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<UtcTime>,
    /// Details of the last heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Payload>,
}

impl PendingActivity {
    /// Returns the deadline of the current attempt and the limit that sets it; None between attempts.
    pub fn attempt_deadline(&self) -> Option<(UtcTime, TimeoutKind)> {
        let started_at = self.started_at?;
        let closes = started_at.plus_ms(self.options.start_to_close_ms());
        let silent = self
            .options
            .heartbeat_ms
            .map(|limit| self.heard_at.unwrap_or(started_at).plus_ms(limit));
        Some(match silent {
            Some(silent) if silent < closes => (silent, TimeoutKind::Heartbeat),
            _ => (closes, TimeoutKind::StartToClose),
        })
    }

    /// Returns the deadline of all attempts together.
    pub fn deadline(&self) -> Option<UtcTime> {
        let limit = self.options.schedule_to_close_ms?;
        Some(self.scheduled_at.plus_ms(limit))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTimer {
    pub timer_id: String,
    #[serde(with = "millis")]
    pub fires_at: UtcTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChild {
    pub workflow_id: String,
    pub run_id: String,
    /// Applies to the child if this run ends first.
    #[serde(default, skip_serializing_if = "ParentClosePolicy::is_default")]
    pub policy: ParentClosePolicy,
    /// Whether the start of the child is recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
}
