//! `PUT /data/{store_id}/dashboards/{dashboard_id}`: changes some fields of a dashboard.
//!
//! With versioning on, every update makes a new version. With versioning off, an update changes the current
//! version in place, unless that is a snapshot: snapshots never change, so the update makes a new version.

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use lake::limits::MAX_ROWS;
use lake::records::dashboards::DashboardContent;
use platform::auth::permission::WriteStores;
use platform::http::openapi::{conditional_write, problem, tagged};
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_NAME_LENGTH, MAX_TEXT_LENGTH, check_text};
use platform::http::{Call, OptionalJson, Path, Reply, SomeKnown, audited, strict};
use platform::records::Outcome;
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::dashboard_change::{Attempts, move_to, next_record, next_version};
use crate::dashboard_check::{check_chart, check_texts, too_large};
use crate::dashboard_model::{Dashboard, DashboardPath, etag};

/// Changes of a dashboard. What is left out stays; null is the same, unless a field says otherwise.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateDashboard {
    /// New name of 1 to 200 characters, unique among the active dashboards of the data store without regard
    /// to case.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: Option<String>,
    /// New purpose of the dashboard, for people, at most 10,000 characters; null removes it.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// New SELECT, of at most 65,536 bytes. `{{name}}` stands for the value of a parameter.
    pub query: Option<String>,
    /// New chart in Vega-Lite 6, as in `createDashboard`; at most 65,536 bytes.
    #[serde(deserialize_with = "strict::optional_json")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub spec: Option<Value>,
    /// New limit of rows to query for; null removes it.
    #[serde(rename = "queryLimit", deserialize_with = "strict::given")]
    #[schemars(with = "Option<u64>", range(min = 1, max = MAX_ROWS))]
    pub query_limit: Option<Option<u64>>,
    /// All values of the query's parameters from now on, by name, at most 65,536 bytes; null removes them.
    #[serde(rename = "queryParameters", deserialize_with = "strict::given_json_object")]
    pub query_parameters: Option<Map<String, Value>>,
    /// All labels from now on; at most 50, of 1 to 200 characters each.
    #[schemars(length(max = 50), inner(length(min = 1, max = MAX_NAME_LENGTH)))]
    pub tags: Option<Vec<String>>,
    /// Reason for the version, at most 2,000 characters. Default: the names of the given fields. Without a
    /// version it is not kept.
    #[schemars(length(max = MAX_TEXT_LENGTH))]
    pub message: Option<String>,
}

impl UpdateDashboard {
    fn apply(&self, mut content: DashboardContent) -> DashboardContent {
        strict::set(&mut content.name, &self.name);
        strict::set(&mut content.description, &self.description);
        strict::set(&mut content.query, &self.query);
        strict::set(&mut content.spec, &self.spec);
        strict::set(&mut content.query_limit, &self.query_limit);
        strict::set(&mut content.query_parameters, &self.query_parameters);
        strict::set(&mut content.tags, &self.tags);
        content
    }

    /// True if an update touches the query or the chart. Without this test, a dashboard whose table was
    /// dropped could not be renamed.
    fn is_about_the_chart(&self) -> bool {
        self.query.is_some() || self.spec.is_some() || self.query_parameters.is_some()
    }

    fn message(&self) -> String {
        let fields = [
            ("name", self.name.is_some()),
            ("description", self.description.is_some()),
            ("query", self.query.is_some()),
            ("spec", self.spec.is_some()),
            ("queryLimit", self.query_limit.is_some()),
            ("queryParameters", self.query_parameters.is_some()),
            ("tags", self.tags.is_some()),
        ];
        let names: Vec<_> = fields
            .iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(name, _)| *name)
            .collect();
        match (&self.message, names.is_empty()) {
            (Some(message), _) => message.clone(),
            (None, true) => "Updated the dashboard".to_owned(),
            (None, false) => format!("Updated {}", names.join(", ")),
        }
    }
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "dashboard")
        .identified_by("dashboard_id")
        .on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updateDashboard")
        .tag("dashboards")
        .summary("Update a dashboard")
        .description(
            "Changes the given fields of an active dashboard; an archived one is a 404. With versioning on, each call makes a version, \
             also with an empty body; a body with unknown fields alone is a 400. With versioning off it changes the current version, unless that is a snapshot: then it makes \
             a version. A new query, chart or set of parameters is checked as in `createDashboard`; other fields can be \
             changed even if the tables of the query are gone.\n\n\
             Without `if-match` the last writer wins, and no accepted change is lost. Side effects: a version as said, and an audit \
             record of the action `update`.",
        )
        .response_with::<200, axum::Json<Dashboard>, _>(|response| {
            response.description("The dashboard after the change.")
        })
        .with(tagged)
        .with(conditional_write)
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
    Path(path): Path<DashboardPath>,
    headers: HeaderMap,
    OptionalJson(SomeKnown(body)): OptionalJson<SomeKnown<UpdateDashboard>>,
) -> Result<Reply<Dashboard>> {
    let tenant = call.tenant()?;
    let author = call.principal.reference();
    check_text("message", body.message.as_deref())?;
    let mut attempts = Attempts::new(&app, &tenant, &path, &headers);
    let mut checked: Option<DashboardContent> = None;
    loop {
        let before = attempts.load().await?;
        let content = body.apply(before.content.clone());
        check_texts(&content)?;
        // After a lost race, the check is repeated only if the query or chart changed meanwhile.
        if body.is_about_the_chart() && !checked.is_some_and(|checked| has_same_chart(&checked, &content)) {
            check_chart(&app, &tenant, &before.store_id, &content).await?;
        }
        checked = Some(content.clone());
        let now = app.platform.clock.now();
        let mut next = next_record(&before, now, &author);
        next.content = content;
        let makes_version = before.versioning_enabled || before.current.is_snapshot;
        let version = makes_version.then(|| next_version(&before, now, &author, body.message()));
        if let Some(version) = &version {
            move_to(&mut next, version);
        }
        let saved = app
            .dashboards
            .save(&tenant, &before, &next, version.as_ref())
            .await?;
        if saved == Outcome::Done {
            let tag = etag(&next);
            return Ok(Reply::ok(Dashboard::new(next)).etag(&tag));
        }
    }
}

fn has_same_chart(one: &DashboardContent, other: &DashboardContent) -> bool {
    (&one.query, &one.spec, &one.query_parameters) == (&other.query, &other.spec, &other.query_parameters)
}
