//! `GET /prompts/{pt_id}/forks`: the forks of a template in the same project, oldest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::openapi::with_errors;
use platform::http::{Call, Path, Reply};

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
) -> Result<Reply<Vec<PromptVersionItem>>> {
    let tenant = call.tenant()?;
    app.prompts.get(&tenant, &path.pt_id).await?;
    let forks = app.prompts.forks(&tenant, &path.pt_id).await?;
    Ok(Reply::ok(
        forks
            .into_iter()
            .map(|fork| PromptVersionItem::new(fork, true))
            .collect(),
    ))
}
