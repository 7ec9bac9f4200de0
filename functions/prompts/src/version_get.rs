//! `GET /prompts/{pt_id}/versions/{version}`: returns one version of a template, with its content.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::{Call, Path, Reply};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::PromptTemplate;

/// The path of a version of a prompt template.
#[derive(Deserialize, JsonSchema)]
struct VersionPath {
    /// Id of the prompt template.
    pt_id: String,
    /// Number of the version.
    version: u64,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getPromptVersion")
        .tag("prompts")
        .summary("Read a version of a prompt template")
        .description(
            "Answers a version of a template, whole, as the template was then: to compare it with another one, or to write its \
             content again. The versions of a deleted template cannot be read.",
        )
        .response::<200, axum::Json<PromptTemplate>>()
}

async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Path(path): Path<VersionPath>,
) -> Result<Reply<PromptTemplate>> {
    let tenant = call.tenant()?;
    let mut prompt = app
        .prompts
        .version(&tenant, &path.pt_id, Some(path.version))
        .await?;
    // A version is answered as it was written; what is published is a property of the template.
    prompt.published_version = 0;
    Ok(Reply::ok(PromptTemplate::new(&tenant, prompt)))
}
