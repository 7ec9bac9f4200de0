//! Defines the claims of an access token, their times, and the refusal of a token.

use jsonwebtoken::errors::{Error as JwtError, ErrorKind as JwtErrorKind};
use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;
use crate::error::{Error, Result};

/// Tolerated difference between the issuer's clock and ours, in seconds.
const LEEWAY_SECONDS: i64 = 30;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    /// User id.
    pub sub: String,
    pub account_id: String,
    /// Absent for an account-scoped principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Present only where the issuer knows a tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(default)]
    pub roles: Vec<String>,
    /// Individual permissions, in addition to those of the roles.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_name: Option<String>,
    /// Readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// Expiry, in seconds since the Unix epoch.
    pub exp: i64,
    /// Not valid before, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    pub iss: String,
    pub aud: Audience,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    One(String),
    Many(Vec<String>),
}

/// 401 for a token that has expired or is not valid yet. `exp` and `nbf` are in seconds since the Unix epoch.
pub(super) fn check_times(exp: i64, nbf: Option<i64>, now: UtcTime) -> Result<()> {
    let now = now.as_seconds();
    if exp.saturating_add(LEEWAY_SECONDS) <= now {
        return Err(Error::unauthenticated(
            "The access token has expired; get a new one.",
        ));
    }
    if nbf.is_some_and(|not_before| not_before.saturating_sub(LEEWAY_SECONDS) > now) {
        return Err(Error::unauthenticated("The access token is not valid yet."));
    }
    Ok(())
}

/// Returns the time from which on a token with this `exp` is refused. None for a time that no clock shows.
pub(super) fn end_of(exp: i64) -> Option<UtcTime> {
    UtcTime::from_millis(exp.checked_add(LEEWAY_SECONDS)?.checked_mul(1_000)?)
}

/// 401 for a rejected token.
pub(super) fn refusal(error: JwtError) -> Error {
    let message = match error.kind() {
        JwtErrorKind::InvalidSignature => "The signature of the access token does not hold.".to_owned(),
        JwtErrorKind::InvalidIssuer => "The access token is of another issuer.".to_owned(),
        JwtErrorKind::InvalidAudience => "The access token is for another audience.".to_owned(),
        JwtErrorKind::MissingRequiredClaim(claim) => {
            format!("The access token has no claim '{claim}'.")
        }
        JwtErrorKind::Json(cause) => {
            format!("The claims of the access token are not as they must be: {cause}.")
        }
        _ => "The access token does not hold.".to_owned(),
    };
    Error::unauthenticated(message).with_source(error)
}
