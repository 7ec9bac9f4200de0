//! `DELETE /prompts/{pt_id}`: removes a template from every read. Its versions, and the `parent` of its
//! forks, stay: interactions go on with the version that they used.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use platform::auth::permission::DeletePrompts;
use platform::http::openapi::conditional_write;
use platform::http::{Call, Path, Reply, audited, if_match};
use platform::races::{RacePolicy, Races};
use platform::records::Written;
use platform::records::audit::AuditAction;
use platform::{Error, Platform, Result};
use prompts::records::interactions::InteractionUse;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::{PromptPath, etag};

/// The prompt template that was deleted.
#[derive(Serialize, JsonSchema)]
pub struct DeletedPrompt {
    /// The template's id.
    pub id: String,
    /// What the caller should know: which interactions still use a version of the template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Delete, "prompt").on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("deletePrompt")
        .tag("prompts")
        .summary("Delete a prompt template")
        .description(
            "Removes a template from every read and list. Its forks stay, with the id in their `parent`, and interactions go on \
             with the version that they used; `warnings` names them. There is no way to restore it.\n\nSide effects: an audit record of the action `delete`.",
        )
        .response::<200, axum::Json<DeletedPrompt>>()
        .with(conditional_write)
}

async fn handler(
    call: Call<DeletePrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
    headers: HeaderMap,
) -> Result<Reply<DeletedPrompt>> {
    let tenant = call.tenant()?;
    let id = path.pt_id;
    let mut races = Races::new(&RacePolicy::RECORD, "a prompt template");
    loop {
        let mut version = None;
        if headers.contains_key(header::IF_MATCH) {
            let current = app.prompts.get(&tenant, &id).await?;
            if_match(&headers, &etag(&current))?;
            version = Some(current.version);
        }
        match app.prompts.remove(&tenant, &id, version).await? {
            Written::Done => {
                let uses = app.interactions.of_prompt(&tenant, &id).await?;
                let warnings = uses.iter().map(still_used).collect();
                return Ok(Reply::ok(DeletedPrompt { id, warnings }));
            }
            Written::Refused { .. } if version.is_none() => {
                return Err(Error::not_found("prompt template", &id));
            }
            // Another request changed or deleted the template after it was read; the next read decides.
            Written::Refused { .. } | Written::Contended => {}
        }
        races.lost().await?;
    }
}

fn still_used(usage: &InteractionUse) -> String {
    format!(
        "The interaction '{}' ({}) still uses a version of this template. Load a version of the interaction that uses another one.",
        usage.name, usage.id
    )
}
