//! `DELETE /members/{member_id}`: removes a member from the project.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::AdministerProject;
use platform::http::openapi::problem;
use platform::http::{Call, Deleted, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};

use crate::App;
use crate::member_model::MemberPath;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Delete, "member").on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("removeMember")
        .tag("access")
        .summary("Remove a member")
        .description(
            "Removes a user from this project, within 30 seconds. What the user made stays. It takes each permission that the member \
             has.\n\n\
             Side effects: an audit record of the action `delete`.",
        )
        .with(problem(
            ErrorKind::Conflict,
            "The member was changed at the same time.",
            "The member '5d41402abc4b2a76b9719d911017c592' was changed at the same time; read it again.",
        ))
        .response_with::<200, axum::Json<Deleted>, _>(|response| response.description("The user is no member any more."))
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Path(path): Path<MemberPath>,
) -> Result<Reply<Deleted>> {
    let tenant = call.tenant()?;
    let member = app.members.get(&tenant, &path.member_id).await?;
    call.principal.grantable("roles", &member.roles)?;
    app.members.remove(&member).await?;
    Ok(Reply::ok(Deleted::one(path.member_id)))
}
