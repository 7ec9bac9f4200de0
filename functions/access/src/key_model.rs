//! Defines API keys as the API shows them.

use identity::api_key::ApiKey;
use platform::UtcTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An API key without its secret.
#[derive(Serialize, JsonSchema)]
pub struct Key {
    /// Also in `created_by` of what is made with the key: `apikey:<id>`.
    pub id: String,
    /// Purpose of the key, for people.
    pub name: String,
    /// Roles whose permissions the key has.
    pub roles: Vec<String>,
    /// The last four characters of the key.
    pub hint: String,
    /// Time of its creation; rotations do not change it.
    pub created_at: UtcTime,
    /// Principal that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Time from which on the key opens nothing; left out for a key without an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UtcTime>,
    /// A time in the hour before the last use; left out for a key that was never used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<UtcTime>,
    /// Time until which the secret before the last rotation opens too; left out where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_valid_until: Option<UtcTime>,
}

impl Key {
    pub fn new(key: ApiKey, now: UtcTime) -> Self {
        let previous = key.previous.map(|previous| previous.valid_until);
        Self {
            id: key.id,
            name: key.name,
            roles: key.roles,
            hint: key.hint,
            created_at: key.created_at,
            created_by: key.created_by,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            previous_valid_until: previous.filter(|end| *end > now),
        }
    }
}

/// An API key with its secret.
#[derive(Serialize, JsonSchema)]
pub struct KeyWithSecret {
    #[serde(flatten)]
    pub record: Key,
    /// The key itself, for `Authorization: Bearer` or `x-api-key`. No other answer shows it.
    pub key: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct KeyPath {
    /// Id of the key.
    pub key_id: String,
}
