//! Presets: the settings of a channel for each known sender, from `presets.json`.

use std::sync::LazyLock;

use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::Arrays;
use super::handshake::Handshake;
use super::signature::SignatureRule;
use crate::transform::Transform;

const ROWS: &str = include_str!("presets.json");

/// Settings of a channel that a preset gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SenderSettings {
    /// How the sender signs; without it the sender shows the channel's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<SignatureRule>,
    /// Requests by which the sender asks whether the URL wants its events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handshakes: Vec<Handshake>,
    /// Header in which the sender has the channel's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_header: Option<String>,
    /// Path in the body to the channel's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_path: Option<String>,
    /// What an array in a body means. Default: `split`, an event for each element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrays: Option<Arrays>,
    /// Status of the answer to an accepted event, for senders that take no 202.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_status: Option<u16>,
    /// Headers that the events keep under `details.headers`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Where the parts of an event are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// Action of events that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_action: Option<String>,
    /// Resource type of events that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_resource_type: Option<String>,
}

/// A known sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Name for `preset` of a channel, such as `stripe`.
    pub name: String,
    /// Name of the sender for people.
    pub title: String,
    /// What to do at the sender, in a sentence or two.
    pub setup: String,
    /// Page of the sender about its webhooks.
    pub documentation: String,
    /// Settings that a channel takes from it; each can be set otherwise.
    pub settings: SenderSettings,
}

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| serde_json::from_str(ROWS).unwrap_or_default());

/// Returns every preset, in the order of their names.
pub fn all() -> &'static [Preset] {
    &PRESETS
}

/// 400 for a name that no preset has.
pub fn get(name: &str) -> Result<&'static Preset> {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    preset.ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name.as_str()).collect();
        Error::invalid_field("preset", format!("is '{name}'; there are {}.", names.join(", ")))
    })
}

/// Puts the fields of an object of the caller over those of a preset.
pub fn merged(preset: &impl Serialize, own: Value) -> Result<Value> {
    let Value::Object(own) = own else {
        return Ok(own);
    };
    let base = serde_json::to_value(preset).map_err(Error::internal)?;
    let mut fields: Map<_, _> = match base {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.extend(own);
    Ok(Value::Object(fields))
}
