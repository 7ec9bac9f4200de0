//! `GET /prompts/{pt_id}/versions`: every version of a template, newest first.

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
        .id("prompt_versions")
        .tag("prompts")
        .summary("List the versions of a prompt template")
        .response::<200, axum::Json<Vec<PromptVersionItem>>>()
}

pub async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
) -> Result<Reply<Vec<PromptVersionItem>>> {
    let tenant = call.tenant()?;
    // The versions first: one that is made in between then is missing, rather than two being the latest.
    let versions = app.prompts.versions(&tenant, &path.pt_id).await?;
    app.prompts.get(&tenant, &path.pt_id).await?;
    let latest = versions.last().map(|version| version.version);
    let items = versions.into_iter().rev().map(|version| {
        let is_latest = Some(version.version) == latest;
        PromptVersionItem::new(version, is_latest)
    });
    Ok(Reply::ok(items.collect()))
}
