//! `POST /prompts`: a new template, as draft, version 1.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::WritePrompts;
use platform::http::openapi::with_errors;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, check_description, check_name};
use platform::http::{Call, Json, Reply, strict};
use platform::records::prompts::{ContentType, PromptRecord, PromptStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::App;
use crate::model::{PromptTemplate, etag};
use crate::sandboxed::Checker;
use crate::validate;

/// A new template.
#[derive(Deserialize, JsonSchema)]
pub struct CreatePrompt {
    /// Its name.
    pub name: String,
    /// Whom it speaks as: safety, system, user, assistant and tool are the usual ones.
    pub role: String,
    /// What it is for.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// How the content is written.
    #[serde(deserialize_with = "strict::name")]
    pub content_type: ContentType,
    /// The template itself.
    pub content: String,
    /// Values to try it with: an object.
    #[serde(default, deserialize_with = "strict::optional_json")]
    pub test_data: Option<Value>,
    /// JSON Schema of its variables: an object.
    #[serde(rename = "inputSchema", default, deserialize_with = "strict::optional_json")]
    pub input_schema: Option<Value>,
    /// Free labels.
    #[serde(default)]
    pub tags: Vec<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("prompt_create")
        .tag("prompts")
        .summary("Create a prompt template")
        .response::<201, axum::Json<PromptTemplate>>()
}

pub async fn handler(
    call: Call<WritePrompts>,
    State(app): State<App>,
    Json(body): Json<CreatePrompt>,
) -> Result<Reply<PromptTemplate>> {
    let tenant = call.tenant()?;
    let author = call.principal.reference();
    let prompt = PromptRecord {
        id: call.new_id(),
        name: body.name,
        role: body.role,
        status: PromptStatus::Draft,
        version: 1,
        description: body.description,
        content_type: body.content_type,
        content: body.content,
        test_data: body.test_data,
        input_schema: body.input_schema,
        tags: body.tags,
        parent: None,
        created_by: author.clone(),
        updated_by: author,
        created_at: call.now,
        updated_at: call.now,
    };
    check_name("name", &prompt.name)?;
    check_description("description", prompt.description.as_deref())?;
    validate::check(&prompt)?;
    Checker::new(&app.sandbox, tenant.account())
        .check(&prompt)
        .await?;
    app.prompts.insert(&tenant, &prompt).await?;
    let (id, tag) = (prompt.id.clone(), etag(&prompt));
    Ok(Reply::created(
        &id,
        &format!("/prompts/{id}"),
        PromptTemplate::new(&tenant, prompt),
    )
    .etag(&tag))
}
