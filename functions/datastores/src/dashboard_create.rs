//! `POST /data/{store_id}/dashboards`: creates a dashboard with version 1.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::limits::MAX_ROWS;
use lake::records::dashboards::{DashboardContent, DashboardRecord, DashboardStatus, DashboardVersionRecord};
use platform::auth::permission::WriteStores;
use platform::http::openapi::{created, problem};
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_NAME_LENGTH};
use platform::http::{Call, Json, Path, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::dashboard_check::{check_chart, check_texts, too_large};
use crate::dashboard_model::{Dashboard, etag};
use crate::model::StorePath;

/// A new dashboard.
#[derive(Deserialize, JsonSchema)]
pub struct CreateDashboard {
    /// 1 to 200 characters; unique among the active dashboards of the data store without regard to case.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: String,
    /// Purpose of the dashboard, for people; at most 10,000 characters.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// One SELECT, whose rows the chart shows; at most 65,536 bytes. `{{name}}` stands for the value of a
    /// parameter.
    pub query: String,
    /// One chart in Vega-Lite 6, without its data: `mark`, and `encoding` with at least one channel, whose
    /// fields are columns of the query or come from the chart's own `transform`. At most 65,536 bytes.
    #[serde(deserialize_with = "strict::optional_json")]
    #[schemars(with = "Map<String, Value>")]
    pub spec: Option<Value>,
    /// Most rows to query for. Default: that of `queryDataStore`.
    #[serde(rename = "queryLimit")]
    #[schemars(range(min = 1, max = MAX_ROWS))]
    pub query_limit: Option<u64>,
    /// Values of the query's parameters by name: strings, numbers, booleans, nulls, or arrays of these. Each
    /// parameter of the query needs a value. At most 65,536 bytes.
    #[serde(rename = "queryParameters", default, deserialize_with = "strict::json_object")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub query_parameters: Map<String, Value>,
    /// Labels to group dashboards by; at most 50, of 1 to 200 characters each.
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(min = 1, max = MAX_NAME_LENGTH)))]
    pub tags: Vec<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "dashboard")
        .identified_by("dashboard_id")
        .on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createDashboard")
        .tag("dashboards")
        .summary("Create a dashboard")
        .description(
            "Saves a query of a data store with the chart that shows its rows. Query and chart are checked against the current tables \
             and not run: a query that cannot be run, and a chart whose fields are no columns of it, are a 400 that names the \
             field. The dashboard answers no rows: a client runs its query with `queryDataStore` and draws the chart.\n\n\
             Side effects: version 1, with versioning on, and an audit record of the action `create`.",
        )
        .response::<201, axum::Json<Dashboard>>()
        .with(created)
        .with(problem(
            ErrorKind::Conflict,
            "Another active dashboard of the data store has the name.",
            "A dashboard named 'Sales by city' exists already in this data store.",
        ))
        .with(too_large)
}

async fn handler(
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
