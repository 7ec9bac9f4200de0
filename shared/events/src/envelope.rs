//! The envelope of an event.

use platform::UtcTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Something became of a content object.
    Content,
    /// Something became of a workflow run.
    Workflow,
    /// Authentication, authorization, permissions.
    Security,
    /// Something was used that costs.
    Billing,
    /// Upkeep of the platform.
    System,
    /// Somebody outside pushed it in through an ingest channel.
    External,
}

/// How much of something an event stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meter {
    /// Such as `processing`.
    pub category: String,
    /// Such as `pages`.
    #[serde(rename = "type")]
    pub kind: String,
    /// How much.
    pub quantity: f64,
}

/// An event. The order of the fields is the contract's, and the one that they are written in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// Its id, the same wherever it turns up.
    pub event_id: String,
    /// What kind of thing happened.
    pub event_category: Category,
    /// What happened, such as `workflow_completed`.
    pub action: String,
    /// What it happened to, such as `content_object`.
    pub resource_type: String,
    /// Which one.
    pub resource_id: String,
    /// Its account.
    pub account_id: String,
    /// Its project.
    pub project_id: String,
    /// Its tenant, where the account has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// When it happened.
    pub timestamp: UtcTime,
    /// Who tells of it: `workflow`, or `external:<source>`.
    pub source: String,
    /// What is known of the resource.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub resource_data: Map<String, Value>,
    /// What is special about this event.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// How much of what it stands for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<Meter>,
}
