//! `GET /prompts/{pt_id}`: returns the current version of a template.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::openapi::tagged;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::model::{PromptPath, PromptTemplate, etag};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getPrompt")
        .tag("prompts")
        .summary("Read a prompt template")
        .description(
            "Answers the current version of a template, whole. `listPromptVersions` lists the earlier versions, and \
             `getPromptVersion` answers one of them.",
        )
        .response::<200, axum::Json<PromptTemplate>>()
        .with(tagged)
}

async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
) -> Result<Reply<PromptTemplate>> {
    let tenant = call.tenant()?;
    let prompt = app.prompts.get(&tenant, &path.pt_id).await?;
    let tag = etag(&prompt);
    Ok(Reply::ok(PromptTemplate::new(&tenant, prompt)).etag(&tag))
}
