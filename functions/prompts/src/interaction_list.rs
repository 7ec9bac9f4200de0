//! `GET /prompts/{pt_id}/interactions`: lists the interactions that use a template.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::ReadPrompts;
use platform::http::{Call, Path, Reply};
use platform::{Error, Result};
use prompts::records::interactions::InteractionUse;
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
    /// True where the template is deleted: the interactions go on with the version that they used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
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
             deleted. A deleted template is answered while interactions use its versions. The operator loads interactions; the API does \
             not write them.",
        )
        .response::<200, axum::Json<PromptInteractions>>()
}

async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
) -> Result<Reply<PromptInteractions>> {
    let tenant = call.tenant()?;
    let prompt = path.pt_id;
    let interactions = app.interactions.of_prompt(&tenant, &prompt).await?;
    let in_use = app.prompts.in_use(&tenant, &prompt, None).await?;
    if in_use.is_deleted && interactions.is_empty() {
        return Err(Error::not_found("prompt template", &prompt));
    }
    Ok(Reply::ok(PromptInteractions {
        prompt,
        interactions,
        deleted: in_use.is_deleted,
    }))
}
