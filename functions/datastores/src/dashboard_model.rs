//! Defines the API shapes of dashboards and of their versions.

use lake::records::dashboards::{DashboardRecord, DashboardStatus, DashboardVersionRecord};
use platform::UtcTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum number of items of a list without pages, and the default limit.
pub const MAX_LISTED: usize = 1_000;

/// The path of a dashboard.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardPath {
    /// Id of the data store.
    pub store_id: String,
    /// Id of the dashboard.
    pub dashboard_id: String,
}

/// A dashboard in its current version: a chart over a query of a data store.
#[derive(Serialize, JsonSchema)]
pub struct Dashboard {
    /// The same for all versions.
    pub id: String,
    /// Id of the data store.
    pub store_id: String,
    /// Name, unique among the active dashboards of the data store without regard to case.
    pub name: String,
    /// Purpose of the dashboard, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// One SELECT, whose rows the chart shows. `{{name}}` stands for the value of a parameter.
    pub query: String,
    /// Chart in Vega-Lite, without its data.
    #[schemars(with = "Map<String, Value>")]
    pub spec: Value,
    /// Most rows to query for. Default: that of `queryDataStore`.
    #[serde(rename = "queryLimit", skip_serializing_if = "Option::is_none")]
    pub query_limit: Option<u64>,
    /// Values of the query's parameters by name.
    #[serde(rename = "queryParameters")]
    pub query_parameters: Map<String, Value>,
    /// Status of the dashboard.
    pub status: DashboardStatus,
    /// Labels to group dashboards by.
    pub tags: Vec<String>,
    /// Whether each update makes a version, rather than changes the current one.
    pub versioning_enabled: bool,
    /// Number of the current version; lower than the highest one after a promotion or a snapshot.
    pub version: u64,
    /// Time at which the dashboard was created.
    pub created_at: UtcTime,
    /// Time of the last change; a snapshot is none.
    pub updated_at: UtcTime,
    /// Principal that created the dashboard, such as `user:<user_id>` or `apikey:<key_id>`.
    pub created_by: String,
    /// Principal that made the last change.
    pub updated_by: String,
}

impl Dashboard {
    pub fn new(record: DashboardRecord) -> Self {
        let content = record.content;
        Self {
            id: record.id,
            store_id: record.store_id,
            name: content.name,
            description: content.description,
            query: content.query,
            spec: content.spec,
            query_limit: content.query_limit,
            query_parameters: content.query_parameters,
            status: record.status,
            tags: content.tags,
            versioning_enabled: record.versioning_enabled,
            version: record.current.version_number,
            created_at: record.created_at,
            updated_at: record.updated_at,
            created_by: record.created_by,
            updated_by: record.updated_by,
        }
    }
}

/// A version of a dashboard in a list, without its content.
#[derive(Serialize, JsonSchema)]
pub struct DashboardVersion {
    /// Id to promote the version by.
    pub id: String,
    /// Id of the dashboard that it is a version of.
    pub dashboard_id: String,
    /// 1 for the first version, then one more each, without gaps.
    pub version_number: u64,
    /// Name of a snapshot, unique in the dashboard without regard to case; missing for any other version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Reason for the version, from its author, else a sentence about the change.
    pub message: String,
    /// Whether this is the version that the dashboard shows.
    pub is_current: bool,
    /// Whether it is a snapshot: a version with a name, whose content never changes.
    pub is_snapshot: bool,
    /// Time at which the version was made.
    pub created_at: UtcTime,
    /// Principal that made the version, such as `user:<user_id>` or `apikey:<key_id>`.
    pub created_by: String,
}

impl DashboardVersion {
    pub fn new(dashboard: &DashboardRecord, version: DashboardVersionRecord) -> Self {
        Self {
            is_current: version.id == dashboard.current.id,
            id: version.id,
            dashboard_id: dashboard.id.clone(),
            version_number: version.version_number,
            name: version.name,
            message: version.message,
            is_snapshot: version.is_snapshot,
            created_at: version.created_at,
            created_by: version.created_by,
        }
    }
}

/// Returns the `ETag` of a dashboard, without its quotes.
pub fn etag(record: &DashboardRecord) -> String {
    record.changes.to_string()
}
