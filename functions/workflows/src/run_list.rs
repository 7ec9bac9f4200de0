//! `POST /workflows/runs`: lists the matching runs of the project, newest first.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::{Call, OptionalJson, Reply};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use workflow::listing::RunSelection;
use workflow::status::RunStatus;
use workflow::views::WorkflowRunPage;

use crate::App;
use crate::model::viewer;

const DEFAULT_PAGE_SIZE: usize = 50;
const MAX_PAGE_SIZE: usize = 500;

/// Which workflow runs to list: those that match every given field. The body may be left out.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListRuns {
    /// Id of the document that a run is about.
    pub document_id: Option<String>,
    /// Action of the event that started a run.
    pub event_name: Option<String>,
    /// Id of the subscription that started a run.
    pub rule_id: Option<String>,
    /// Part of the workflow type or of the subscription's name, in upper or lower case; or a whole run id.
    pub search_term: Option<String>,
    /// One or more statuses, separated by commas, such as `RUNNING,FAILED`.
    pub status: Option<String>,
    /// Principal that started a run, such as `user:<user_id>`.
    pub initiated_by: Option<String>,
    /// Workflow type of a run.
    #[serde(rename = "type")]
    pub workflow_type: Option<String>,
    /// Condition in the list-filter language, such as `ExecutionStatus = 'FAILED' AND WorkflowType
    /// STARTS_WITH 'Batch'`.
    pub query: Option<String>,
    /// Earliest start of a run.
    pub start: Option<UtcTime>,
    /// Latest start of a run.
    pub end: Option<UtcTime>,
    /// Most runs of the page. Default: 50.
    #[schemars(range(min = 1, max = 500))]
    pub page_size: Option<u64>,
    /// `next_page_token` of the page before, with the same filters.
    pub next_page_token: Option<String>,
    /// Belongs to a start. It is read here only to be refused, because a caller who sends it means to start a
    /// run.
    #[schemars(skip)]
    input: Option<Value>,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listWorkflowRuns")
        .tag("workflow runs")
        .summary("List workflow runs")
        .description(
            "Answers runs of the project, the newest first, page by page. Filters are combined with AND. A run appears here within \
             a second of its start or change; `getWorkflowRun` always answers its current state. Private runs are answered to \
             their starter alone, and to callers with the permission `workflow_superadmin`.\n\n\
             Limits: 500 runs a page. A page is full unless the listing ends. Ids of runs and documents, types, rules and all statuses \
             but `COMPLETED` are found by an index; a page looks for runs by other fields for ten seconds, and may then hold fewer \
             runs than `page_size`, even none, while `has_more` is true.",
        )
        .response::<200, axum::Json<WorkflowRunPage>>()
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    OptionalJson(body): OptionalJson<ListRuns>,
) -> Result<Reply<WorkflowRunPage>> {
    page(&call, &app, body, None).await
}

/// Returns a page of runs, only of `only_type` if it is given.
pub async fn page(
    call: &Call<UseRuns>,
    app: &App,
    body: ListRuns,
    only_type: Option<&str>,
) -> Result<Reply<WorkflowRunPage>> {
    let tenant = call.tenant()?;
    if body.input.is_some() {
        return Err(Error::invalid_field(
            "input",
            "is unknown: this lists runs. A subscription starts a run for each event that it matches, and \
             `ops run start` starts one by hand.",
        ));
    }
    let page_size = page_size(body.page_size)?;
    let token = non_empty(body.next_page_token.clone());
    let selection = selection(body, only_type)?;
    let page = app
        .workflows
        .listings
        .list(&tenant, &viewer(call), &selection, page_size, token.as_deref())
        .await?;
    Ok(Reply::ok(WorkflowRunPage {
        runs: page.runs.into_iter().map(Into::into).collect(),
        has_more: page.next_page_token.is_some(),
        next_page_token: page.next_page_token,
    }))
}

fn page_size(size: Option<u64>) -> Result<usize> {
    let size = size.map_or(Ok(DEFAULT_PAGE_SIZE), usize::try_from);
    match size {
        Ok(size) if (1..=MAX_PAGE_SIZE).contains(&size) => Ok(size),
        _ => Err(Error::invalid_field(
            "page_size",
            format!("must be from 1 to {MAX_PAGE_SIZE}."),
        )),
    }
}

fn selection(body: ListRuns, only_type: Option<&str>) -> Result<RunSelection> {
    let statuses = non_empty(body.status).unwrap_or_default();
    let statuses = statuses
        .split(',')
        .map(str::trim)
        .filter(|status| !status.is_empty());
    let mut selection = RunSelection {
        document_id: non_empty(body.document_id),
        event_name: non_empty(body.event_name),
        rule_id: non_empty(body.rule_id),
        search_term: non_empty(body.search_term),
        statuses: statuses.map(status).collect::<Result<_>>()?,
        initiated_by: non_empty(body.initiated_by),
        workflow_type: non_empty(body.workflow_type),
        filter: body.query.unwrap_or_default(),
        start: body.start,
        end: body.end,
    };
    if let Some(only) = only_type {
        // The caller requests another type too, so no run matches.
        if selection
            .workflow_type
            .as_deref()
            .is_some_and(|workflow_type| workflow_type != only)
        {
            selection.end = Some(UtcTime::EPOCH);
        }
        selection.workflow_type = Some(only.to_owned());
    }
    Ok(selection)
}

/// Treats an empty text as missing.
fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn status(text: &str) -> Result<RunStatus> {
    let status = RunStatus::ALL
        .into_iter()
        .find(|status| status.as_str().eq_ignore_ascii_case(text));
    status.ok_or_else(|| {
        Error::invalid_field(
            "status",
            format!(
                "names '{text}'; there are {}.",
                RunStatus::ALL.map(RunStatus::as_str).join(", ")
            ),
        )
    })
}
