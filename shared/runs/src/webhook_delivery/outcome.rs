//! Defines an attempt of a delivery, and what comes of it.

use events::delivery::DeliveryRef;
use events::records::deliveries::DeliveryAttempt;
use events::records::lanes::LanePlace;
use events::records::rates::Slot;
use platform::UtcTime;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AttemptInput {
    pub event_id: String,
    /// The delivery, and the number of the attempt.
    #[serde(flatten)]
    pub delivery: DeliveryRef,
    /// Attempts before it since the last manual retry.
    pub tried: usize,
    /// Start of the run: the timestamp that is signed.
    pub started_at: UtcTime,
    /// Place of the delivery in its lane, until it had its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LanePlace>,
    /// How often the delivery has waited for its turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waits: u32,
    /// Second that is reserved for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
pub(super) const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The attempt; None where nothing was sent.
    pub attempt: Option<DeliveryAttempt>,
    pub next: Next,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// The receiver accepted the event.
    Done,
    /// Makes another attempt after this pause, in milliseconds.
    After(u64),
    /// The delivery failed permanently, for this reason.
    GiveUp(String),
    /// The subscription no longer wants the event, for this reason.
    Unwanted(String),
    /// Nothing was sent: another delivery of the lane is first. Looks again after this pause, in
    /// milliseconds, or on the signal of the lane.
    WaitForTurn(u64),
    /// Nothing was sent: the request has this second.
    WaitForSlot(Slot),
    /// A new run repeats the attempt: this run started too long ago to sign with its start time.
    Renew,
}

pub(super) struct Answer {
    /// HTTP status. Redirects are not followed.
    pub status: u16,
    /// Start of the body, undecoded.
    pub body: Vec<u8>,
    pub retry_after: Option<String>,
}
