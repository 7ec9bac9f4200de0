//! `PUT /members/{member_id}`: changes the roles or the name of a member.

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::Role;
use platform::auth::permission::AdministerProject;
use platform::http::openapi::problem;
use platform::http::text::check_name;
use platform::http::{Call, Json, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::member_model::{Member, MemberPath};

/// The new state of a member.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateMember {
    /// Roles whose permissions the user has from now on. The caller must have all of these permissions, and
    /// those of the roles before.
    pub roles: Vec<Role>,
    /// Name for people, 1 to 200 characters. Default: none.
    pub name: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "member").on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updateMember")
        .tag("access")
        .summary("Change a member")
        .description(
            "Replaces the roles and the name of a member, within 30 seconds. A caller with fewer permissions than the member can \
             change nothing.\n\n\
             Side effects: an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<Member>, _>(|response| response.description("The member."))
        .with(problem(
            ErrorKind::Conflict,
            "The member was changed at the same time.",
            "The member '5d41402abc4b2a76b9719d911017c592' was changed at the same time; read it again.",
        ))
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Path(path): Path<MemberPath>,
    Json(body): Json<UpdateMember>,
) -> Result<Reply<Member>> {
    if let Some(name) = &body.name {
        check_name("name", name)?;
    }
    let mut member = app.members.get(&call.tenant()?, &path.member_id).await?;
    call.principal.grantable("roles", &member.roles)?;
    member.roles = call.principal.grantable("roles", &body.roles)?;
    member.name = body.name;
    member.version += 1;
    member.updated_at = call.now;
    member.updated_by = call.principal.reference();
    app.members.save(&member).await?;
    Ok(Reply::ok(member.into()))
}
