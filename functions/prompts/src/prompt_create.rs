//! `POST /prompts`: creates a template, as draft, with version 1.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::WritePrompts;
use platform::http::openapi::created;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_NAME_LENGTH, check_description, check_name};
use platform::http::{Call, Json, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{Platform, Result};
use prompts::Checker;
use prompts::records::prompts::{ContentType, PromptRecord, PromptStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::model::{PromptTemplate, etag};
use crate::validate;

/// A new prompt template.
#[derive(Deserialize, JsonSchema)]
pub struct CreatePrompt {
    /// 1 to 200 characters; two templates may share a name.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: String,
    /// Role of the message that the template makes, such as `system`, `user`, `assistant`, `safety` or
    /// `tool`; 1 to 200 characters.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub role: String,
    /// Purpose of the template, for people; at most 10,000 characters.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// Language of `content`.
    #[serde(deserialize_with = "strict::name")]
    pub content_type: ContentType,
    /// Text of the template in that language. Content, description, tags, test data and schema have at most
    /// 350,000 bytes together.
    pub content: String,
    /// Example values of the variables.
    #[serde(default, deserialize_with = "strict::optional_json")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub test_data: Option<Value>,
    /// JSON Schema of the variables. Where there is also `test_data`, that must be valid against it.
    #[serde(rename = "inputSchema", default, deserialize_with = "strict::optional_json")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub input_schema: Option<Value>,
    /// Labels to search by; at most 50, of 1 to 200 characters each.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What the author says about this version, for its list; at most 10,000 characters.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub message: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "prompt").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createPrompt")
        .tag("prompts")
        .summary("Create a prompt template")
        .description(
            "Creates a template of the project as draft, with version 1. Content that its language cannot parse, or that no data could \
             render, and test data that the schema refuses, are a 400 that names the place. Variables that the schema lacks are \
             `warnings`. The template is not rendered.\n\n\
             Side effects: version 1, and an audit record of the action `create`.",
        )
        .response::<201, axum::Json<PromptTemplate>>()
        .with(created)
}

async fn handler(
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
        message: body.message,
        published_version: 0,
        revision: 0,
    };
    check_name("name", &prompt.name)?;
    check_description("description", prompt.description.as_deref())?;
    check_description("message", prompt.message.as_deref())?;
    validate::check(&prompt)?;
    let warnings = Checker::new(&app.sandbox, tenant.account())
        .check(&prompt)
        .await?;
    app.prompts.insert(&tenant, &prompt).await?;
    let (id, tag) = (prompt.id.clone(), etag(&prompt));
    Ok(Reply::created(
        &id,
        &format!("/prompts/{id}"),
        PromptTemplate::new(&tenant, prompt).with_warnings(warnings),
    )
    .etag(&tag))
}
