//! Ingest channels: doors through which outsiders push events in.

use platform::records::channels::ChannelRecord;
use platform::{Error, Result, UtcTime};
use serde::{Deserialize, Serialize};

use crate::signature::SignatureRule;
use crate::transform::{Defaults, Transform};

/// A channel, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The label that stands behind `external:` in its events.
    pub source: String,
    /// What happened, where nothing else says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_action: Option<String>,
    /// What it happened to, where nothing else says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_resource_type: Option<String>,
    /// Where the parts of an event are in what is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// How what is sent is signed; None where a token is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureRule>,
    /// The secret that it is signed with, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    /// Whether it takes anything.
    pub enabled: bool,
    /// SHA-256 of its token, hexadecimal.
    pub token_hash: String,
    /// The end of its token.
    pub token_hint: String,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
    /// Who made it.
    pub created_by: String,
    /// Who changed it last.
    pub updated_by: String,
}

impl Channel {
    /// From its record.
    pub fn of(record: &ChannelRecord) -> Result<Self> {
        serde_json::from_str(&record.document).map_err(Error::internal)
    }

    /// Its record, of this revision.
    pub fn record(&self, revision: u64) -> Result<ChannelRecord> {
        Ok(ChannelRecord {
            id: self.id.clone(),
            revision,
            document: serde_json::to_string(self).map_err(Error::internal)?,
        })
    }

    /// What it says of its events.
    pub fn defaults(&self) -> Defaults<'_> {
        Defaults {
            action: self.default_action.as_deref(),
            resource_type: self.default_resource_type.as_deref(),
            transform: self.transform.as_ref(),
        }
    }

    /// The name under which its signing secret is sealed.
    pub fn secret_place(id: &str) -> String {
        format!("channel/{id}/signing_secret")
    }
}
