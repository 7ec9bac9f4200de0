//! Defines an attempt of a delivery, and what comes of it.

use events::delivery::DeliveryRef;
use events::records::deliveries::DeliveryAttempt;
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
