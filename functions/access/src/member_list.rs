//! `GET /members`: lists the members of the project.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::AdministerProject;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Query, Reply};

use crate::App;
use crate::member_model::Member;

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listMembers")
        .tag("access")
        .summary("List members")
        .description(
            "Answers the members of the project, by their ids. Users whose tokens name this project themselves are not among them. \
             Without parameters it is the complete list; ask for pages with `page_size` and `next_page_token`.",
        )
        .response_with::<200, axum::Json<Vec<Member>>, _>(|response| response.description("The members."))
        .with(pages)
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Query(query): Query<PageQuery>,
) -> Result<Reply<Vec<Member>>> {
    let tenant = call.tenant()?;
    let mut page = query.page()?;
    let mut rows = app.members.rows(&tenant, page.after(), page.read_at_once());
    while let Some(member) = rows.next().await? {
        let id = member.id.clone();
        if !page.take(&id, Member::from(member))? {
            break;
        }
    }
    Ok(page.reply())
}
