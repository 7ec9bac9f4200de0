//! `PUT /prompts/{pt_id}`: makes a new version of a template, as draft.
//!
//! Without `If-Match` the last writer wins: after a lost race the template is read again and the same fields
//! applied to it. So no version number is skipped or used twice, and every accepted body becomes a version.

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use platform::auth::permission::WritePrompts;
use platform::http::openapi::{conditional_write, tagged};
use platform::http::text::{MAX_DESCRIPTION_LENGTH, MAX_NAME_LENGTH, check_description, check_name};
use platform::http::{Call, OptionalJson, Path, Reply, SomeKnown, audited, if_match, strict};
use platform::races::{RacePolicy, Races};
use platform::records::Written;
use platform::records::audit::AuditAction;
use platform::{Platform, Result, Tenant};
use prompts::Checker;
use prompts::records::prompts::{ContentType, PromptRecord, PromptStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::model::{PromptPath, PromptTemplate, etag};
use crate::validate;

/// Changes of a prompt template. A field that is left out keeps its value; null removes an optional one.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdatePrompt {
    /// New name of 1 to 200 characters.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: Option<String>,
    /// New role of 1 to 200 characters.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub role: Option<String>,
    /// New purpose, at most 10,000 characters; null removes it.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// New language of the content; the content, new or old, must parse in it.
    #[serde(deserialize_with = "strict::optional_name")]
    pub content_type: Option<ContentType>,
    /// New text of the template.
    pub content: Option<String>,
    /// New example values of the variables; null removes them.
    #[serde(deserialize_with = "strict::given_json")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub test_data: Option<Option<Value>>,
    /// New JSON Schema of the variables; null removes it.
    #[serde(rename = "inputSchema", deserialize_with = "strict::given_json")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub input_schema: Option<Option<Value>>,
    /// All labels from now on; at most 50, of 1 to 200 characters each.
    pub tags: Option<Vec<String>>,
    /// What the author says about this version, for its list; at most 10,000 characters.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub message: Option<String>,
}

impl UpdatePrompt {
    fn apply(&self, mut prompt: PromptRecord) -> PromptRecord {
        strict::set(&mut prompt.name, &self.name);
        strict::set(&mut prompt.role, &self.role);
        strict::set(&mut prompt.description, &self.description);
        strict::set(&mut prompt.content_type, &self.content_type);
        strict::set(&mut prompt.content, &self.content);
        strict::set(&mut prompt.test_data, &self.test_data);
        strict::set(&mut prompt.input_schema, &self.input_schema);
        strict::set(&mut prompt.tags, &self.tags);
        prompt.message.clone_from(&self.message);
        prompt
    }
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "prompt").on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updatePrompt")
        .tag("prompts")
        .summary("Update a prompt template")
        .description(
            "Makes a new version of a template, as draft, with the given fields changed; every call makes one, also with an empty \
             body; a body with unknown fields alone is a 400. Interactions go on with the published version. Without `if-match` the last writer wins, and no version is lost.\n\n\
             Side effects: a version, and an audit record of the action `update`.",
        )
        .response::<200, axum::Json<PromptTemplate>>()
        .with(tagged)
        .with(conditional_write)
}

async fn handler(
    call: Call<WritePrompts>,
    State(app): State<App>,
    Path(path): Path<PromptPath>,
    headers: HeaderMap,
    OptionalJson(SomeKnown(body)): OptionalJson<SomeKnown<UpdatePrompt>>,
) -> Result<Reply<PromptTemplate>> {
    let tenant = call.tenant()?;
    // Stored texts may be longer than the limits for input: the name of a fork, or a description that is
    // older than its limit.
    body.name
        .as_deref()
        .map_or(Ok(()), |name| check_name("name", name))?;
    let description = body.description.as_ref().and_then(Option::as_deref);
    check_description("description", description)?;
    check_description("message", body.message.as_deref())?;
    let (prompt, warnings) = save(&app, &call, &tenant, &path.pt_id, &headers, &body).await?;
    let tag = etag(&prompt);
    let template = PromptTemplate::new(&tenant, prompt).with_warnings(warnings);
    Ok(Reply::ok(template).etag(&tag))
}

async fn save(
    app: &App,
    call: &Call<WritePrompts>,
    tenant: &Tenant,
    id: &str,
    headers: &HeaderMap,
    body: &UpdatePrompt,
) -> Result<(PromptRecord, Vec<String>)> {
    let mut checker = Checker::new(&app.sandbox, tenant.account());
    let mut races = Races::new(&RacePolicy::RECORD, "a prompt template");
    loop {
        let current = app.prompts.get(tenant, id).await?;
        if_match(headers, &etag(&current))?;
        let mut next = body.apply(current);
        next.version += 1;
        next.status = PromptStatus::Draft;
        next.updated_by = call.principal.reference();
        next.updated_at = app.platform.clock.now().max(next.updated_at);
        validate::check(&next)?;
        let warnings = checker.check(&next).await?;
        if app.prompts.save(tenant, &mut next).await? == Written::Done {
            return Ok((next, warnings));
        }
        races.lost().await?;
    }
}
