//! `GET /me`: says who is calling, what the caller may do, and where else.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use platform::auth::{Permission, Principal, Role};
use platform::http::call::secure;
use platform::http::{Presented, Reply};
use platform::{Result, UtcTime};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;

/// The caller of this request.
#[derive(Serialize, JsonSchema)]
pub struct Me {
    /// The caller in the chosen project. Left out where the caller is a member of several projects, or of
    /// none, and the header `X-Millrace-Project` names none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Identified>,
    /// Projects that the caller is a member of; empty where the credential names the project itself.
    pub projects: Vec<Project>,
}

/// A caller with an account, and all that it may do there.
#[derive(Serialize, JsonSchema)]
pub struct Identified {
    /// As in `created_by`: `user:<id>`, `apikey:<id>` or `run:<id>`.
    pub reference: String,
    /// Account of everything that the caller does.
    pub account_id: String,
    /// Project of this request. Left out for a caller of a whole account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Roles as given; one that this service does not know grants nothing.
    pub roles: Vec<String>,
    /// Everything that the caller may do.
    pub permissions: Vec<Permission>,
    /// Time at which the credential ends; left out where it has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<UtcTime>,
}

/// A project that the caller is a member of.
#[derive(Serialize, JsonSchema)]
pub struct Project {
    /// Account of the project.
    pub account_id: String,
    /// With the account, `<account_id>/<project_id>`, a value of `X-Millrace-Project`.
    pub project_id: String,
    /// Roles whose permissions the caller has there.
    pub roles: Vec<Role>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .with(|mut operation| {
            secure(operation.inner_mut(), &[]);
            operation
        })
        .id("getMe")
        .tag("access")
        .summary("Say who is calling")
        .description(
            "Answers who the service takes the caller for, what the caller may do, and among which projects it can choose by the \
             header `X-Millrace-Project`. Call it first where a user works in several projects, and to see what a token or key \
             permits. It needs a credential and no permission.",
        )
        .response_with::<200, axum::Json<Me>, _>(|response| response.description("The caller."))
}

async fn handler(State(app): State<App>, headers: HeaderMap) -> Result<Reply<Me>> {
    let presented = Presented::from_headers(&headers)?;
    let caller = app
        .identity
        .caller(&presented.credential, presented.project.as_deref())
        .await?;
    let projects = caller.members.iter().map(|member| Project {
        account_id: member.account_id.clone(),
        project_id: member.project_id.clone(),
        roles: member.roles.clone(),
    });
    Ok(Reply::ok(Me {
        projects: projects.collect(),
        principal: match caller.principal {
            Ok(principal) => Some(identified(principal)),
            // Only the choice of a project is left to the caller.
            Err(refusal) if refusal.status() == 403 && presented.project.is_none() => None,
            Err(refusal) => return Err(refusal),
        },
    }))
}

fn identified(principal: Principal) -> Identified {
    Identified {
        reference: principal.reference(),
        account_id: principal.account_id,
        project_id: principal.project_id,
        roles: principal.roles,
        permissions: principal.permissions.into_iter().collect(),
        valid_until: principal.valid_until,
    }
}
