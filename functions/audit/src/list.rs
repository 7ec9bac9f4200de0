//! `GET /audit-trail`: lists the mutations of a project or an account, newest first.
//!
//! A principal with `account:admin` sees the account, or one project if the query names it. A principal with
//! `project:admin` sees its own project, whatever the query names.

use std::collections::BTreeSet;

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use event_log::listing::AuditFilter;
use platform::auth::Viewer;
use platform::auth::permission::ReadAuditTrail;
use platform::http::{Call, List, Query, Reply};
use platform::records::audit::{AuditAction, AuditEvent};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::de::value;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::scope::project;

const MAX_LIMIT: usize = 200;
/// Largest offset: 2^53 - 1, the largest integer that every JSON reader represents exactly.
const MAX_OFFSET: u64 = 9_007_199_254_740_991;

/// Which audit records to list: those that match every given parameter.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditQuery {
    /// Actions, of which a record has one: create, update, delete, bulk_update, bulk_delete, attach, detach,
    /// publish or unpublish. Repeated or separated by commas.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub actions: List,
    /// Resource types, of which a record has one, such as `prompt` or `data_store`. Repeated or separated by
    /// commas.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub resource_types: List,
    /// Id of the changed resource.
    pub resource_id: Option<String>,
    /// Id of the API key or service account that made the request.
    pub principal_id: Option<String>,
    /// Id of the user who made the request.
    pub principal_user_id: Option<String>,
    /// Id of a project, for callers with `account:admin`; others always get their own project.
    pub project_id: Option<String>,
    /// Earliest time of a record.
    pub from: Option<UtcTime>,
    /// Latest time of a record.
    pub to: Option<UtcTime>,
    /// Most records of an answer. Default: 50.
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
    /// Number of records to skip. Default: 0.
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub offset: Option<u64>,
}

/// A page of the audit trail.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    /// The records, newest first.
    pub events: Vec<AuditEvent>,
    /// True where more records follow: ask again with `offset` increased by `limit`.
    pub has_next: bool,
    /// Limit that the answer was made with.
    pub limit: usize,
    /// Offset that the answer was made with.
    pub offset: u64,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listAuditEvents")
        .tag("audit trail")
        .summary("List the audit trail")
        .description(
            "Answers who changed what, the newest first: each mutation of the API and of the operator leaves one \
             record, also when it was refused. Reads and searches leave none. Callers with `project:admin` see \
             their own project, callers with `account:admin` the account, or one project of it. Records about private \
             runs are listed for the owner of the run and for callers with `workflow_superadmin`.\n\n\
             A record is listed within about a second of the answer to its request. Any offset can be asked \
             for; records that come while a caller reads page after page move the others on, so give `to` for a \
             walk through all of them.\n\n\
             Limit: 200 records an answer.",
        )
        .response::<200, axum::Json<AuditPage>>()
}

async fn handler(
    call: Call<ReadAuditTrail>,
    State(app): State<App>,
    Query(query): Query<AuditQuery>,
) -> Result<Reply<AuditPage>> {
    let limit = query.limit.unwrap_or(50);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::invalid(format!(
            "The query parameter 'limit' must be from 1 to {MAX_LIMIT}."
        )));
    }
    let offset = query.offset.unwrap_or(0);
    if offset > MAX_OFFSET {
        return Err(Error::invalid(format!(
            "The query parameter 'offset' must be at most {MAX_OFFSET}."
        )));
    }
    let project = project(&call, query.project_id.as_deref(), false)?;
    let filter = AuditFilter {
        actions: actions(&query.actions)?,
        resource_types: query.resource_types.0.into_iter().collect(),
        resource_id: query.resource_id,
        principal_id: query.principal_id,
        principal_user_id: query.principal_user_id,
        from: query.from,
        to: query.to,
    };
    let account = &call.principal.account_id;
    let viewer = Viewer::from_principal(&call.principal);
    let page = app
        .log
        .list_audit(account, project.as_deref(), &filter, &viewer, (offset, limit))
        .await?;
    Ok(Reply::ok(AuditPage {
        events: page.events,
        has_next: page.has_next,
        limit,
        offset,
    }))
}

fn actions(list: &List) -> Result<BTreeSet<AuditAction>> {
    let action = |text: &String| {
        let read: Result<AuditAction, value::Error> = AuditAction::deserialize(StrDeserializer::new(text));
        read.map_err(|error| {
            Error::invalid(format!(
                "The query parameter 'actions' is not as it must be: {error}."
            ))
        })
    };
    list.0.iter().map(action).collect()
}
