//! `GET /prompts/{pt_id}/forks`: lists the forks of a template in the same project, oldest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Path, Query, Reply};

use crate::App;
use crate::model::{PromptPath, PromptVersionItem};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listPromptForks")
        .tag("prompts")
        .summary("List the forks of a prompt template")
        .description(
            "Answers the forks of a template that are in the caller's project, oldest first, each with its current version. Forks \
             of forks are listed with their own original.",
        )
        .response_with::<200, axum::Json<Vec<PromptVersionItem>>, _>(|response| response.description("The forks, oldest first."))
        .with(pages)
}

async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
    Query(query): Query<PageQuery>,
) -> Result<Reply<Vec<PromptVersionItem>>> {
    let tenant = call.tenant()?;
    let mut page = query.page()?;
    app.prompts.get(&tenant, &path.pt_id).await?;
    let mut forks = app
        .prompts
        .forks(&tenant, &path.pt_id, page.after(), page.read_at_once());
    while let Some(fork) = forks.next().await? {
        let id = fork.id.clone();
        if !page.take(&id, PromptVersionItem::new(fork, true))? {
            break;
        }
    }
    Ok(page.reply())
}
