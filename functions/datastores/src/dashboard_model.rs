//! The shapes of dashboards and of their versions.

use platform::http::sent_size::{MAX_SENT_BYTES, sent_bytes};
use platform::records::dashboards::{DashboardRecord, DashboardStatus, DashboardVersionRecord, Window};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Most items of a list, and how many there are where no limit is given.
const MAX_LISTED: usize = 1_000;
/// Most bytes of a list as they are sent.
const MAX_LIST_BYTES: usize = MAX_SENT_BYTES - 50_000;

/// The store and the dashboard in the path.
#[derive(Deserialize, JsonSchema)]
pub struct DashboardPath {
    /// The store's id.
    pub store_id: String,
    /// The dashboard's id.
    pub dashboard_id: String,
}

/// A dashboard.
#[derive(Serialize, JsonSchema)]
pub struct Dashboard {
    /// Its id.
    pub id: String,
    /// Its store.
    pub store_id: String,
    /// Its name.
    pub name: String,
    /// What it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The SQL that gives its rows.
    pub query: String,
    /// The chart, in Vega-Lite.
    #[schemars(with = "Map<String, Value>")]
    pub spec: Value,
    /// Most rows of the query.
    #[serde(rename = "queryLimit", skip_serializing_if = "Option::is_none")]
    pub query_limit: Option<u64>,
    /// Values of the query's parameters.
    #[serde(rename = "queryParameters")]
    pub query_parameters: Map<String, Value>,
    /// Active or archived.
    pub status: DashboardStatus,
    /// Free labels.
    pub tags: Vec<String>,
    /// Whether every update makes a version.
    pub versioning_enabled: bool,
    /// The number of the current version.
    pub version: u64,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it last changed.
    pub updated_at: UtcTime,
    /// Who made it.
    pub created_by: String,
    /// Who last changed it.
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

/// A version of a dashboard.
#[derive(Serialize, JsonSchema)]
pub struct DashboardVersion {
    /// Its id.
    pub id: String,
    /// The dashboard's id.
    pub dashboard_id: String,
    /// 1 for the first, then one more each.
    pub version_number: u64,
    /// The name of a snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why it was made.
    pub message: String,
    /// Whether the dashboard is at this version.
    pub is_current: bool,
    /// Whether it is a named snapshot.
    pub is_snapshot: bool,
    /// When it was made.
    pub created_at: UtcTime,
    /// Who made it.
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

/// The `ETag` of a dashboard, without its quotes.
pub fn etag(record: &DashboardRecord) -> String {
    record.changes.to_string()
}

/// Which part of a list is asked for: 1 to 1,000 items.
pub fn window(limit: Option<usize>, offset: Option<usize>) -> Result<Window> {
    let limit = limit.unwrap_or(MAX_LISTED);
    if !(1..=MAX_LISTED).contains(&limit) {
        return Err(Error::invalid(format!(
            "The query parameter 'limit' must be from 1 to {MAX_LISTED}."
        )));
    }
    let offset = offset.unwrap_or(0);
    Ok(Window { offset, limit })
}

/// Refuses with 422 a list that no answer can hold.
pub fn check_size<T: Serialize>(list: &[T]) -> Result<()> {
    let text = serde_json::to_vec(list).map_err(Error::internal)?;
    if sent_bytes(&text) > MAX_LIST_BYTES {
        return Err(Error::unprocessable(
            "The list is larger than the 6 MB that can be sent; ask for parts of it with 'limit' and 'offset'.",
        ));
    }
    Ok(())
}
