//! Defines the API shapes of templates and of list entries.

use platform::UtcTime;
use platform::tenant::Tenant;
use prompts::records::interactions::InteractionUse;
use prompts::records::prompts::{ContentType, PromptRecord, PromptStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The path of a prompt template.
#[derive(Deserialize, JsonSchema)]
pub struct PromptPath {
    /// Id of the prompt template.
    pub pt_id: String,
}

/// A prompt template in its current version.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptTemplate {
    /// The same for all versions.
    pub id: String,
    /// Name in the library; not unique.
    pub name: String,
    /// Role of the message that the template makes, such as `system` or `user`.
    pub role: String,
    /// Status of this version.
    pub status: PromptStatus,
    /// Number of the current version: 1 at first, one more with each update.
    pub version: u64,
    /// Purpose of the template, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Language of `content`.
    pub content_type: ContentType,
    /// Text of the template.
    pub content: String,
    /// Example values of the variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub test_data: Option<Value>,
    /// JSON Schema of the variables.
    #[serde(rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub input_schema: Option<Value>,
    /// Id of the project that it belongs to.
    pub project: String,
    /// Labels to search by.
    pub tags: Vec<String>,
    /// On a fork: id of the template that it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Principal that created the template, such as `user:<user_id>`.
    pub created_by: String,
    /// Principal that made this version.
    pub updated_by: String,
    /// Time at which the template was created.
    pub created_at: UtcTime,
    /// Time at which this version was made.
    pub updated_at: UtcTime,
    /// What the author says about this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Number of the version that interactions use; left out while none is published, and in an earlier
    /// version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_version: Option<u64>,
    /// In the answer of a create or an update: what the author should know, such as variables that
    /// `inputSchema` lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
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
            message: record.message,
            published_version: Some(record.published_version).filter(|number| *number > 0),
            warnings: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }
}

/// A prompt template in a list, without its content.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptListItem {
    /// The same for all versions.
    pub id: String,
    /// Name in the library; not unique.
    pub name: String,
    /// Purpose of the template, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Role of the message that the template makes, such as `system` or `user`.
    pub role: String,
    /// Status of this version.
    pub status: PromptStatus,
    /// Time at which the template was created.
    pub created_at: UtcTime,
    /// Time at which the current version was made.
    pub updated_at: UtcTime,
    /// Number of the current version.
    pub version: u64,
    /// Labels to search by.
    pub tags: Vec<String>,
    /// Interactions that use the template.
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

/// A version, or a fork, of a prompt template in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptVersionItem {
    /// The template's id.
    pub id: String,
    /// Name in the library; not unique.
    pub name: String,
    /// Purpose of the template, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Status of this version.
    pub status: PromptStatus,
    /// Number of the version.
    pub version: u64,
    /// Whether this is the current version.
    pub latest: bool,
    /// Time at which the template was created.
    pub created_at: UtcTime,
    /// Time at which this version was made.
    pub updated_at: UtcTime,
    /// Principal that made this version, such as `user:<user_id>`.
    pub updated_by: String,
    /// What the author says about this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
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
            updated_by: record.updated_by,
            message: record.message,
        }
    }
}

/// Returns the `ETag` of a version, without its quotes. It includes the status, because publishing changes a
/// version without a new number.
pub fn etag(record: &PromptRecord) -> String {
    match record.status {
        PromptStatus::Draft => record.version.to_string(),
        PromptStatus::Published => format!("{}-published", record.version),
    }
}
