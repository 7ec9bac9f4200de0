//! `GET /audit-trail`: the mutations of a project or an account, newest first.
//!
//! A principal with `account:admin` sees the account, or the project that it asks for; one with `project:admin` sees its
//! own project, whatever it asks for.

use std::collections::BTreeSet;

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::Permission;
use platform::auth::permission::ReadAuditTrail;
use platform::http::{Call, List, Query, Reply};
use platform::records::audit::{AuditAction, AuditEvent, AuditFilter};
use platform::tenant::check_id;
use platform::{Error, Platform, Result, UtcTime};
use schemars::JsonSchema;
use serde::de::value;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Serialize};

/// Most records of one answer.
const MAX_LIMIT: usize = 200;
/// Most records that an answer may begin after: each of them is read.
const MAX_OFFSET: usize = 10_000;

/// What to list; what is left out takes everything.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditQuery {
    /// Any of create, update, delete, bulk_update, bulk_delete, attach, detach, publish, unpublish.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub actions: List,
    /// Any of these resource types.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub resource_types: List,
    /// This resource.
    pub resource_id: Option<String>,
    /// This API key or service account.
    pub principal_id: Option<String>,
    /// This person.
    pub principal_user_id: Option<String>,
    /// This project; for account admins.
    pub project_id: Option<String>,
    /// Not before this time.
    pub from: Option<UtcTime>,
    /// Not after this time.
    pub to: Option<UtcTime>,
    /// Most records to answer with: 1 to 200, 50 where it is left out.
    pub limit: Option<usize>,
    /// Records to skip.
    pub offset: Option<usize>,
}

/// A page of the audit trail.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    /// The records, newest first.
    pub events: Vec<AuditEvent>,
    /// Whether there are more.
    pub has_next: bool,
    /// The limit that applied.
    pub limit: usize,
    /// The offset that applied.
    pub offset: usize,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listAuditEvents")
        .tag("audit trail")
        .summary("List the audit trail")
        .response::<200, axum::Json<AuditPage>>()
}

pub async fn handler(
    call: Call<ReadAuditTrail>,
    State(platform): State<Platform>,
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
            "The query parameter 'offset' must be at most {MAX_OFFSET}; narrow the search with 'from' and 'to'."
        )));
    }
    let project = project(&call, query.project_id.as_deref())?;
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
    let (events, has_next) = platform
        .trail
        .list(account, project.as_deref(), &filter, offset, limit)
        .await?;
    Ok(Reply::ok(AuditPage {
        events,
        has_next,
        limit,
        offset,
    }))
}

/// None is the whole account.
fn project(call: &Call<ReadAuditTrail>, asked: Option<&str>) -> Result<Option<String>> {
    if call.principal.require(&[Permission::AccountAdmin]).is_err() {
        return Ok(Some(call.tenant()?.project().to_owned()));
    }
    if let Some(project) = asked {
        check_id("project", project)?;
    }
    Ok(asked.map(str::to_owned))
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
