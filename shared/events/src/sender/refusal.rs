//! Says why a request to a channel was refused. Only the owner of the channel sees it; the sender gets one
//! answer for all faults of credentials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// The request has no token.
    TokenMissing,
    /// The token is another one.
    TokenWrong,
    /// The request has no signature where the rule says.
    SignatureMissing,
    /// No signature of the request fits.
    SignatureWrong,
    /// The request has no signed time, or one that cannot be read.
    TimestampMissing,
    /// The signed time is too far from the time of arrival.
    TimestampOutsideTolerance,
    /// The certificate is not from an allowed host, or cannot be read.
    CertificateRefused,
    /// The channel has no signing secret yet, or one that does not fit its rule.
    SecretMissing,
    /// A handshake was not carried out.
    HandshakeFailed,
    /// The channel is disabled.
    Disabled,
    /// The channel was sent more events than it may take.
    RateLimited,
    /// The body is larger than the channel takes.
    BodyTooLarge,
    /// The body cannot be read as an event.
    BodyInvalid,
}

impl RefusalReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TokenMissing => "token_missing",
            Self::TokenWrong => "token_wrong",
            Self::SignatureMissing => "signature_missing",
            Self::SignatureWrong => "signature_wrong",
            Self::TimestampMissing => "timestamp_missing",
            Self::TimestampOutsideTolerance => "timestamp_outside_tolerance",
            Self::CertificateRefused => "certificate_refused",
            Self::SecretMissing => "secret_missing",
            Self::HandshakeFailed => "handshake_failed",
            Self::Disabled => "disabled",
            Self::RateLimited => "rate_limited",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyInvalid => "body_invalid",
        }
    }
}

/// A refusal with what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: RefusalReason,
    /// What the request must have, or what was wrong with it; without secrets.
    pub detail: String,
}

impl Refusal {
    pub fn new(reason: RefusalReason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}
