//! `GET /members/{member_id}`: reads a member.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::AdministerProject;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::member_model::{Member, MemberPath};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getMember")
        .tag("access")
        .summary("Read a member")
        .description("Answers a member of the project: a user of an identity provider, with the roles that the user has here.")
        .response_with::<200, axum::Json<Member>, _>(|response| response.description("The member."))
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Path(path): Path<MemberPath>,
) -> Result<Reply<Member>> {
    let member = app.members.get(&call.tenant()?, &path.member_id).await?;
    Ok(Reply::ok(member.into()))
}
