//! Defines ingest channels, through which external systems push events.

use platform::{Error, Result, UtcTime};
use serde::{Deserialize, Serialize};

use crate::records::channels::ChannelRecord;
use crate::signature::SignatureRule;
use crate::template::warnings;
use crate::transform::{Defaults, Transform};

/// An ingest channel, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredChannel {
    pub id: String,
    pub name: String,
    /// Label after `external:` in the source of its events.
    pub source: String,
    /// Action of an event where neither the body nor the transform has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_action: Option<String>,
    /// Resource type of an event where neither the body nor the transform has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_resource_type: Option<String>,
    /// Paths to the parts of an event in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// Signature scheme of the senders; None where the token is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureRule>,
    /// Sealed secret of the senders' signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    /// Whether the channel accepts events.
    pub enabled: bool,
    /// SHA-256 of the token, hexadecimal.
    pub token_hash: String,
    /// Last characters of the token.
    pub token_hint: String,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
    pub created_by: String,
    pub updated_by: String,
}

impl StoredChannel {
    pub fn from_record(record: &ChannelRecord) -> Result<Self> {
        serde_json::from_str(&record.document).map_err(Error::internal)
    }

    pub fn record(&self, revision: u64) -> Result<ChannelRecord> {
        Ok(ChannelRecord {
            id: self.id.clone(),
            revision,
            document: serde_json::to_string(self).map_err(Error::internal)?,
        })
    }

    /// Returns the channel's part of its events.
    pub fn defaults(&self) -> Defaults<'_> {
        Defaults {
            action: self.default_action.as_deref(),
            resource_type: self.default_resource_type.as_deref(),
            transform: self.transform.as_ref(),
        }
    }

    /// Returns advice about texts that look like references to what is sent, and stay as they are.
    pub fn warnings(&self) -> Vec<String> {
        let reason = "paths of 'transform' read what is sent, such as 'action_path'";
        let labels = [
            ("default_action", &self.default_action),
            ("default_resource_type", &self.default_resource_type),
        ];
        let labels = labels.into_iter().filter_map(|(field, text)| {
            let text = text.as_deref()?;
            warnings::of_constant(field, text, reason)
        });
        let details = self.transform.iter().flat_map(|transform| {
            let reason = "they are the same in each event, whose 'details.payload' has what is sent";
            warnings::of_constants("transform.static_details", &transform.static_details, reason)
        });
        labels.chain(details).collect()
    }

    /// Returns the name under which the signing secret is sealed.
    pub fn secret_place(id: &str) -> String {
        format!("channel/{id}/signing_secret")
    }
}
