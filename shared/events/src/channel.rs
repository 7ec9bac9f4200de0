//! Defines ingest channels, through which external systems push events.

use platform::{Error, Result, UtcTime};
use serde::{Deserialize, Serialize};

use crate::records::channels::ChannelRecord;
use crate::sender::body::Arrays;
use crate::sender::handshake::Handshake;
use crate::sender::signature::SignatureRule;
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
    /// Replaced secret, sealed, and the time at which it stops counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_secret: Option<(String, UtcTime)>,
    /// Time at which a handshake brought the signing secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_received_at: Option<UtcTime>,
    /// Name of the preset from which the settings were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Requests by which senders ask whether the URL wants their events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handshakes: Vec<Handshake>,
    /// Header in which the sender has the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_header: Option<String>,
    /// Path in the body to the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_path: Option<String>,
    /// Headers that the details of the events keep, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    #[serde(default)]
    pub arrays: Arrays,
    /// Status of the answer to an accepted event; None for 202.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_status: Option<u16>,
    /// Largest body, in KiB; None for that of the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_body_kb: Option<u32>,
    /// Whether the first bytes of refused bodies are kept.
    #[serde(default)]
    pub keep_refused_bodies: bool,
    /// Whether the channel accepts events.
    pub enabled: bool,
    /// SHA-256 of the token, hexadecimal.
    pub token_hash: String,
    /// Last characters of the token.
    pub token_hint: String,
    /// SHA-256 of the replaced token, and the time at which it stops counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_token: Option<(String, UtcTime)>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
    pub created_by: String,
    pub updated_by: String,
}

impl StoredChannel {
    /// Returns a channel without a name, an id and credentials, of this author and time.
    pub fn new(now: UtcTime, author: String) -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            source: String::new(),
            default_action: None,
            default_resource_type: None,
            transform: None,
            signature: None,
            signing_secret: None,
            previous_secret: None,
            secret_received_at: None,
            preset: None,
            handshakes: Vec::new(),
            token_header: None,
            token_path: None,
            headers: Vec::new(),
            arrays: Arrays::default(),
            accepted_status: None,
            max_body_kb: None,
            keep_refused_bodies: false,
            enabled: true,
            token_hash: String::new(),
            token_hint: String::new(),
            previous_token: None,
            created_at: now,
            updated_at: now,
            created_by: author.clone(),
            updated_by: author,
        }
    }

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
            headers: &self.headers,
        }
    }

    /// Returns the hashes of the tokens that count at a time, hexadecimal.
    pub fn token_hashes(&self, now: UtcTime) -> impl Iterator<Item = &str> {
        let previous = self.previous_token.iter().filter(move |(_, until)| now < *until);
        std::iter::once(self.token_hash.as_str()).chain(previous.map(|(hash, _)| hash.as_str()))
    }

    /// Returns the sealed secrets that count at a time, the current one first.
    pub fn sealed_secrets(&self, now: UtcTime) -> impl Iterator<Item = &str> {
        let previous = self.previous_secret.iter().filter(move |(_, until)| now < *until);
        let current = self.signing_secret.as_deref().into_iter();
        current.chain(previous.map(|(sealed, _)| sealed.as_str()))
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
