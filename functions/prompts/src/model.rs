//! The shapes of the API: templates, and what lists show of them.

use platform::UtcTime;
use platform::records::interactions::InteractionUse;
use platform::records::prompts::{ContentType, PromptRecord, PromptStatus};
use platform::tenant::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The id in the path.
#[derive(Deserialize, JsonSchema)]
pub struct PromptPath {
    /// The template's id.
    pub pt_id: String,
}

/// A prompt template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptTemplate {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whom it speaks as.
    pub role: String,
    /// Draft or published.
    pub status: PromptStatus,
    /// 1 at first, then one more with each update.
    pub version: u64,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How the content is written.
    pub content_type: ContentType,
    /// The template itself.
    pub content: String,
    /// Values to try it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_data: Option<Value>,
    /// JSON Schema of its variables.
    #[serde(rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Its project.
    pub project: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// On a fork: the template that it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Who made it: `user:<id>`.
    pub created_by: String,
    /// Who made this version: `user:<id>`.
    pub updated_by: String,
    /// When it was made.
    pub created_at: UtcTime,
    /// When this version was made.
    pub updated_at: UtcTime,
}

impl PromptTemplate {
    pub fn new(tenant: &Tenant, record: PromptRecord) -> Self {
        Self {
            id: record.id,
            name: record.name,
            role: record.role,
            status: record.status,
            version: record.version,
            description: record.description,
            content_type: record.content_type,
            content: record.content,
            test_data: record.test_data,
            input_schema: record.input_schema,
            project: tenant.project().to_owned(),
            tags: record.tags,
            parent: record.parent,
            created_by: record.created_by,
            updated_by: record.updated_by,
            created_at: record.created_at,
            updated_at: record.updated_at,
        }
    }
}

/// A template as a list shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptListItem {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whom it speaks as.
    pub role: String,
    /// Draft or published.
    pub status: PromptStatus,
    /// When it was made.
    pub created_at: UtcTime,
    /// When its current version was made.
    pub updated_at: UtcTime,
    /// Its current version.
    pub version: u64,
    /// Free labels.
    pub tags: Vec<String>,
    /// The interactions that use it.
    pub interactions: Vec<InteractionUse>,
}

impl PromptListItem {
    pub fn new(record: PromptRecord, interactions: Vec<InteractionUse>) -> Self {
        Self {
            id: record.id,
            name: record.name,
            description: record.description,
            role: record.role,
            status: record.status,
            created_at: record.created_at,
            updated_at: record.updated_at,
            version: record.version,
            tags: record.tags,
            interactions,
        }
    }
}

/// A version or a fork as a list shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptVersionItem {
    /// The template's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Draft or published.
    pub status: PromptStatus,
    /// The version's number.
    pub version: u64,
    /// Whether it is the current one.
    pub latest: bool,
    /// When the template was made.
    pub created_at: UtcTime,
    /// When this version was made.
    pub updated_at: UtcTime,
}

impl PromptVersionItem {
    pub fn new(record: PromptRecord, latest: bool) -> Self {
        Self {
            id: record.id,
            name: record.name,
            description: record.description,
            status: record.status,
            version: record.version,
            latest,
            created_at: record.created_at,
            updated_at: record.updated_at,
        }
    }
}

/// The `ETag` of a version, without its quotes: publishing changes a version without a new number.
pub fn etag(record: &PromptRecord) -> String {
    match record.status {
        PromptStatus::Draft => record.version.to_string(),
        PromptStatus::Published => format!("{}-published", record.version),
    }
}
