//! `GET /prompts/{pt_id}/versions`: lists the versions of a template, newest first.

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
        .id("listPromptVersions")
        .tag("prompts")
        .summary("List the versions of a prompt template")
        .description(
            "Answers every version of a template, newest first, without the content, which `getPromptVersion` answers. `latest` \
             marks the current one. There is no way back to an earlier version but to write its content again.",
        )
        .response_with::<200, axum::Json<Vec<PromptVersionItem>>, _>(|response| response.description("The versions, newest first."))
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
    let before = page.after_number()?;
    let mut versions = app
        .prompts
        .versions(&tenant, &path.pt_id, before, page.read_at_once());
    let mut is_latest = before.is_none();
    while let Some(version) = versions.next().await? {
        let number = version.version.to_string();
        if !page.take(&number, PromptVersionItem::new(version, is_latest))? {
            break;
        }
        is_latest = false;
    }
    app.prompts.get(&tenant, &path.pt_id).await?;
    Ok(page.reply())
}
