//! `GET /prompts/{pt_id}`: the current version of a template.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::openapi::with_errors;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::model::{PromptPath, PromptTemplate, etag};

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("prompt_get")
        .tag("prompts")
        .summary("Read a prompt template")
        .response::<200, axum::Json<PromptTemplate>>()
}

pub async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
) -> Result<Reply<PromptTemplate>> {
    let tenant = call.tenant()?;
    let prompt = app.prompts.get(&tenant, &path.pt_id).await?;
    let tag = etag(&prompt);
    Ok(Reply::ok(PromptTemplate::new(&tenant, prompt)).etag(&tag))
}
