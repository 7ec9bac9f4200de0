//! Describes the activities, timers and child runs that a run waits for.

use platform::UtcTime;
use serde::{Deserialize, Serialize};

use crate::event::TimeoutKind;
use crate::failure::Failure;
use crate::options::{ActivityOptions, ParentClosePolicy};
use crate::payload::Payload;
use crate::stored_time::{millis, optional_millis};

/// Heartbeats that are stored within one heartbeat timeout; those between are not.
pub const HEARTBEAT_WRITES: u64 = 3;

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
    /// Time of the last stored heartbeat.
    #[serde(default, with = "optional_millis", skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<UtcTime>,
    /// Details of the last heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Payload>,
}

impl PendingActivity {
    /// Returns the deadline of the current attempt and the limit that sets it; None between attempts. The
    /// last heartbeat may be later than the stored one, so the deadline allows for that.
    pub fn attempt_deadline(&self) -> Option<(UtcTime, TimeoutKind)> {
        let started_at = self.started_at?;
        let closes = started_at.plus_ms(self.options.start_to_close_ms());
        let silent = self.options.heartbeat_ms.map(|limit| match self.heard_at {
            Some(heard_at) => heard_at.plus_ms(limit.saturating_add(limit / HEARTBEAT_WRITES)),
            None => started_at.plus_ms(limit),
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_given_up_only_if_no_heartbeat_can_be_in_time() {
        let start = UtcTime::EPOCH.plus_ms(1_000_000);
        let mut activity = PendingActivity {
            activity_id: "1".to_owned(),
            name: "copy".to_owned(),
            options: ActivityOptions {
                heartbeat_ms: Some(30_000),
                start_to_close_ms: Some(600_000),
                ..ActivityOptions::default()
            },
            scheduled_at: start,
            attempt: 1,
            started_at: Some(start),
            worker: None,
            next_attempt_at: None,
            last_failure: None,
            heard_at: None,
            heartbeat: None,
        };
        // The first heartbeat is always stored, so without one there was none.
        let silent = |ms: u64| Some((start.plus_ms(ms), TimeoutKind::Heartbeat));
        assert_eq!(activity.attempt_deadline(), silent(30_000));
        // A heartbeat less than 10 s after the stored one is not stored; the next one is due 30 s after it.
        activity.heard_at = Some(start.plus_ms(5_000));
        assert_eq!(activity.attempt_deadline(), silent(45_000));
        activity.heard_at = Some(start.plus_ms(590_000));
        let closed = Some((start.plus_ms(600_000), TimeoutKind::StartToClose));
        assert_eq!(activity.attempt_deadline(), closed);
    }
}
