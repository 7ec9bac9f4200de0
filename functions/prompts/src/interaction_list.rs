//! `GET /prompts/{pt_id}/interactions`: lists the interactions that use a template.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::{Call, Path, Reply};
use platform::records::interactions::InteractionUse;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::PromptPath;

/// The interactions that use a prompt template.
#[derive(Serialize, JsonSchema)]
pub struct PromptInteractions {
    /// Id of the template.
    pub prompt: String,
    /// Interactions of which at least one version uses the template.
    pub interactions: Vec<InteractionUse>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listPromptInteractions")
        .tag("prompts")
        .summary("List the interactions that use a prompt template")
        .description(
            "Answers which interactions use a template, and which of their versions: look here before a template is changed or \
             deleted. The operator loads interactions; the API does not write them.",
        )
        .response::<200, axum::Json<PromptInteractions>>()
}

async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
) -> Result<Reply<PromptInteractions>> {
    let tenant = call.tenant()?;
    let prompt = app.prompts.get(&tenant, &path.pt_id).await?.id;
    let interactions = app.interactions.of_prompt(&tenant, &prompt).await?;
    Ok(Reply::ok(PromptInteractions { prompt, interactions }))
}
