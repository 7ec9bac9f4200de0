//! `GET /prompts/{pt_id}/forks`: the forks of a template in the same project, oldest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::openapi::with_errors;
use platform::http::{Call, PageQuery, Path, Query, Reply};

use crate::App;
use crate::model::{PromptPath, PromptVersionItem};

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("prompt_forks")
        .tag("prompts")
        .summary("List the forks of a prompt template")
        .response::<200, axum::Json<Vec<PromptVersionItem>>>()
}

pub async fn handler(
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
        .forks(&tenant, &path.pt_id, page.after(), page.read_at_once())?;
    while let Some(fork) = forks.next().await? {
        let id = fork.id.clone();
        if !page.take(&id, PromptVersionItem::new(fork, true))? {
            break;
        }
    }
    Ok(page.reply())
}
