//! `POST /prompts/{pt_id}/publish`: makes a version the one that interactions use.
//!
//! It is additive: the contract has the status `published` and no operation that sets it.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::WritePrompts;
use platform::http::openapi::tagged;
use platform::http::{Call, OptionalJson, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{PromptPath, PromptTemplate, etag};

/// What to publish. The body may be left out.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PublishPrompt {
    /// Number of the version. Default: the current one.
    pub version: Option<u64>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Publish, "prompt").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("publishPrompt")
        .tag("prompts")
        .summary("Publish a version of a prompt template")
        .description(
            "Makes a version the published one, which interactions use from their next run on unless they name a version. The one \
             that was published before is a draft again; to go back, publish an earlier version. Drafts that are written later \
             change nothing until one is published.\n\n\
             Side effects: the statuses of both versions, and an audit record of the action `publish`.",
        )
        .response::<200, axum::Json<PromptTemplate>>()
        .with(tagged)
}

async fn handler(
    call: Call<WritePrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
    OptionalJson(body): OptionalJson<PublishPrompt>,
) -> Result<Reply<PromptTemplate>> {
    let tenant = call.tenant()?;
    let published = app
        .prompts
        .publish(&tenant, &path.pt_id, body.version, call.now)
        .await?;
    let tag = etag(&published);
    Ok(Reply::ok(PromptTemplate::new(&tenant, published)).etag(&tag))
}
