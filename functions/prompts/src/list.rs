//! `GET /prompts`: the templates of the project, oldest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::openapi::with_errors;
use platform::http::{Call, Query, Reply};

use crate::App;
use crate::model::PromptListItem;
use crate::search::PromptSearchQuery;

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("prompt_list")
        .tag("prompts")
        .summary("List prompt templates")
        .response::<200, axum::Json<Vec<PromptListItem>>>()
}

pub async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Query(query): Query<PromptSearchQuery>,
) -> Result<Reply<Vec<PromptListItem>>> {
    let tenant = call.tenant()?;
    query.check()?;
    let found = query.search(app.prompts.list(&tenant).await?);
    let mut uses = app.interactions.by_prompt(&tenant).await?;
    let items = found.into_iter().map(|prompt| PromptListItem {
        interactions: uses.remove(&prompt.id).unwrap_or_default(),
        id: prompt.id,
        name: prompt.name,
        description: prompt.description,
        role: prompt.role,
        status: prompt.status,
        created_at: prompt.created_at,
        updated_at: prompt.updated_at,
        version: prompt.version,
        tags: prompt.tags,
    });
    Ok(Reply::ok(items.collect()))
}
