//! `POST /data/{store_id}/dashboards`: a new dashboard, version 1.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::WriteStores;
use platform::http::text::MAX_DESCRIPTION_LENGTH;
use platform::http::{Call, Json, Path, Reply, strict};
use platform::records::dashboards::{
    DashboardContent, DashboardRecord, DashboardStatus, DashboardVersionRecord,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::dashboard_check::{check_chart, check_texts};
use crate::dashboard_model::{Dashboard, etag};
use crate::model::StorePath;

/// A new dashboard.
#[derive(Deserialize, JsonSchema)]
pub struct CreateDashboard {
    /// Its name, unique among the active dashboards of the store without regard to case.
    pub name: String,
    /// What it shows.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// One SELECT; `{{name}}` stands for a parameter.
    pub query: String,
    /// The chart, in Vega-Lite: an object with `mark` and `encoding`, whose fields are columns of the query.
    #[serde(deserialize_with = "strict::optional_json")]
    #[schemars(with = "Map<String, Value>")]
    pub spec: Option<Value>,
    /// Most rows of the query: 1 to 10,000.
    #[serde(rename = "queryLimit")]
    pub query_limit: Option<u64>,
    /// Values of the query's parameters: texts, numbers, booleans, nulls, or arrays of these.
    #[serde(rename = "queryParameters", default, deserialize_with = "strict::json_object")]
    pub query_parameters: Map<String, Value>,
    /// Free labels.
    #[serde(default)]
    pub tags: Vec<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createDashboard")
        .tag("dashboards")
        .summary("Create a dashboard")
        .response::<201, axum::Json<Dashboard>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<CreateDashboard>,
) -> Result<Reply<Dashboard>> {
    let tenant = call.tenant()?;
    let store = app.stores.records().get(&tenant, &path.store_id).await?;
    let content = DashboardContent {
        name: body.name,
        description: body.description,
        query: body.query,
        spec: body.spec.unwrap_or_default(),
        query_limit: body.query_limit,
        query_parameters: body.query_parameters,
        tags: body.tags,
    };
    check_texts(&content)?;
    check_chart(&app, &tenant, &store.id, &content).await?;
    let author = call.principal.reference();
    let dashboard = DashboardRecord {
        id: call.new_id(),
        store_id: store.id,
        content,
        status: DashboardStatus::Active,
        versioning_enabled: true,
        current: DashboardVersionRecord {
            id: call.new_id(),
            version_number: 1,
            name: None,
            message: "Created the dashboard".to_owned(),
            is_snapshot: false,
            created_at: call.now,
            created_by: author.clone(),
        },
        last_version: 1,
        revision: 1,
        changes: 1,
        created_at: call.now,
        updated_at: call.now,
        created_by: author.clone(),
        updated_by: author,
    };
    app.dashboards.insert(&tenant, &dashboard).await?;
    let (id, tag) = (dashboard.id.clone(), etag(&dashboard));
    let location = format!("/data/{}/dashboards/{id}", dashboard.store_id);
    Ok(Reply::created(&id, &location, Dashboard::new(dashboard)).etag(&tag))
}
