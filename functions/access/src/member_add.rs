//! `POST /members`: makes a user a member of the project.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use identity::check_user;
use identity::records::members::{Member as Record, member_id};
use platform::auth::Role;
use platform::auth::permission::AdministerProject;
use platform::http::openapi::{created, problem};
use platform::http::text::check_name;
use platform::http::{Call, Json, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::member_model::Member;

/// A new member.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddMember {
    /// User at the identity provider: what tokens have as `sub`, or in the claim that the settings name, with
    /// the provider's `user_prefix`. 1 to 255 characters.
    pub user_id: String,
    /// Roles whose permissions the user gets here. The caller must have all of these permissions.
    pub roles: Vec<Role>,
    /// Name for people, 1 to 200 characters. Default: none.
    pub name: Option<String>,
}

/// A new member.
#[derive(Serialize, JsonSchema)]
pub struct AddedMember {
    #[serde(flatten)]
    pub member: Member,
    /// What may not be as intended; left out where there is nothing to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "member").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("addMember")
        .tag("access")
        .summary("Add a member")
        .description(
            "Makes a user a member of this project. It counts for users of identity providers with `memberships` in the settings, \
             within 30 seconds. The caller gives no permission that the caller does not have.\n\n\
             Side effects: an audit record of the action `create`.",
        )
        .response_with::<201, axum::Json<AddedMember>, _>(|response| response.description("The new member."))
        .with(created)
        .with(problem(
            ErrorKind::Conflict,
            "The user is a member already, or a member of 1,000 projects.",
            "The user 'auth0|64fe' is a member already; change the roles by PUT /members/5d41402abc4b2a76b9719d911017c592.",
        ))
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Json(body): Json<AddMember>,
) -> Result<Reply<AddedMember>> {
    let tenant = call.tenant()?;
    check_user(&body.user_id)?;
    if let Some(name) = &body.name {
        check_name("name", name)?;
    }
    let author = call.principal.reference();
    let member = Record {
        id: member_id(&body.user_id),
        user_id: body.user_id,
        account_id: tenant.account().to_owned(),
        project_id: tenant.project().to_owned(),
        roles: call.principal.grantable("roles", &body.roles)?,
        name: body.name,
        version: 1,
        created_at: call.now,
        created_by: author.clone(),
        updated_at: call.now,
        updated_by: author,
    };
    app.members.insert(&member).await?;
    let id = member.id.clone();
    let mut warnings = Vec::new();
    if !app.identity.has_memberships() {
        warnings.push(
            "No identity provider in the settings of this deployment has `memberships`, so this membership opens nothing.".to_owned(),
        );
    }
    Ok(Reply::created(
        &id,
        &format!("/members/{id}"),
        AddedMember {
            member: Member::from(member),
            warnings,
        },
    ))
}
