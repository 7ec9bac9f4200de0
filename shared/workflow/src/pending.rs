//! What a run waits for, and has not ended.

use platform::UtcTime;
use serde::{Deserialize, Serialize};

use crate::event::TimeoutKind;
use crate::failure::Failure;
use crate::options::{ActivityOptions, ParentClosePolicy};
use crate::payload::Payload;
use crate::stored_time::{millis, optional_millis};

/// An activity that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingActivity {
    /// Its id in the run.
    pub activity_id: String,
    /// Its registered name.
    pub name: String,
    /// Its limits and retries.
    #[serde(default, skip_serializing_if = "ActivityOptions::is_default")]
    pub options: ActivityOptions,
    /// When it was asked for.
    #[serde(with = "millis")]
    pub scheduled_at: UtcTime,
    /// The attempt that is under way or comes next, from 1.
    pub attempt: u32,
    /// When the attempt that is under way began; None between attempts.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<UtcTime>,
    /// Which process carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// When the next attempt begins, at the earliest.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<UtcTime>,
    /// How the attempt before failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
    /// When it was last heard of.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<UtcTime>,
    /// What it said then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Payload>,
}

impl PendingActivity {
    /// When the attempt that is under way is given up, and why; None between attempts.
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

    /// When all attempts together are given up.
    pub fn deadline(&self) -> Option<UtcTime> {
        let limit = self.options.schedule_to_close_ms?;
        Some(self.scheduled_at.plus_ms(limit))
    }
}

/// A timer that has not fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTimer {
    /// Its id in the run.
    pub timer_id: String,
    /// When it fires.
    #[serde(with = "millis")]
    pub fires_at: UtcTime,
}

/// A child run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChild {
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
    /// What becomes of it when this run ends first.
    #[serde(default, skip_serializing_if = "ParentClosePolicy::is_default")]
    pub policy: ParentClosePolicy,
    /// Whether it is known to have begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
}
