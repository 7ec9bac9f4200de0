//! `POST /prompts/{pt_id}/fork`: creates a template with the content of another, as draft, with version 1.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::Permission;
use platform::auth::permission::WritePrompts;
use platform::http::openapi::created;
use platform::http::{Call, OptionalJson, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Platform, Result, Tenant};
use prompts::records::prompts::{PromptRecord, PromptStatus};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{PromptPath, PromptTemplate, etag};

/// How to fork. The body may be left out.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ForkPrompt {
    /// Whether the fork gets the tags of the original.
    pub keep_tags: bool,
    /// Id of the project that gets the fork. Default: the caller's project; another one needs the permission
    /// `account:admin`.
    pub target_project: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "prompt").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("forkPrompt")
        .tag("prompts")
        .summary("Fork a prompt template")
        .description(
            "Copies the current version of a template into a new one, as draft with version 1, with the id of the original as \
             `parent` and ` (fork)` behind its name. Later changes of the original do not reach the fork.\n\n\
             Side effects: a new template, and an audit record of the action `create`.",
        )
        .response::<201, axum::Json<PromptTemplate>>()
        .with(created)
}

async fn handler(
    call: Call<WritePrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
    OptionalJson(body): OptionalJson<ForkPrompt>,
) -> Result<Reply<PromptTemplate>> {
    let tenant = call.tenant()?;
    let target = target(&call, &tenant, body.target_project.as_deref())?;
    let original = app.prompts.get(&tenant, &path.pt_id).await?;
    let author = call.principal.reference();
    let fork = PromptRecord {
        id: call.new_id(),
        name: format!("{} (fork)", original.name),
        status: PromptStatus::Draft,
        version: 1,
        tags: if body.keep_tags {
            original.tags.clone()
        } else {
            Vec::new()
        },
        parent: Some(original.id.clone()),
        created_by: author.clone(),
        updated_by: author,
        created_at: call.now,
        updated_at: call.now,
        message: None,
        published_version: 0,
        revision: 0,
        ..original
    };
    app.prompts.insert_fork(&tenant, &target, &fork).await?;
    let (id, tag) = (fork.id.clone(), etag(&fork));
    Ok(Reply::created(&id, &format!("/prompts/{id}"), PromptTemplate::new(&target, fork)).etag(&tag))
}

fn target(call: &Call<WritePrompts>, tenant: &Tenant, project: Option<&str>) -> Result<Tenant> {
    match project {
        Some(project) if project != tenant.project() => {
            call.principal.require(&[Permission::AccountAdmin])?;
            tenant.with_project(project)
        }
        _ => Ok(tenant.clone()),
    }
}
