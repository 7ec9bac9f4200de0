//! `GET /prompts`: lists the templates of the project, oldest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadPrompts;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Query, Reply};

use crate::App;
use crate::model::PromptListItem;
use crate::search::{PromptSearchQuery, Verdict};

/// Templates that a search reads per request; DynamoDB returns fewer if they exceed 1 MB.
const SEARCHED_AT_ONCE: usize = 1_000;

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listPrompts")
        .tag("prompts")
        .summary("List prompt templates")
        .description(
            "Answers the templates of the project that all of the given filters take, oldest first, without their content. Ask \
             either for pages, with `page_size` and `next_page_token`, or for a part of the list, with `limit` and `offset`; \
             without any of them the answer is the complete list.",
        )
        .response_with::<200, axum::Json<Vec<PromptListItem>>, _>(|response| response.description("The templates, oldest first."))
        .with(pages)
}

async fn handler(
    call: Call<ReadPrompts>,
    State(app): State<App>,
    Query(query): Query<PromptSearchQuery>,
    Query(pages): Query<PageQuery>,
) -> Result<Reply<Vec<PromptListItem>>> {
    let tenant = call.tenant()?;
    query.check()?;
    let mut page = pages.without_window(query.has_window())?.page()?;
    let mut uses = app.interactions.by_prompt(&tenant).await?;
    let mut search = query.start();
    // If few templates match, even a small page may have to read many.
    let read_at_once = match query.has_filter() {
        true => SEARCHED_AT_ONCE,
        false => page.read_at_once(),
    };
    let mut rows = app.prompts.rows(&tenant, page.after(), read_at_once);
    while let Some(prompt) = rows.next().await? {
        match search.verdict(&prompt) {
            Verdict::PassOver => continue,
            Verdict::Done => break,
            Verdict::Take => {}
        }
        let id = prompt.id.clone();
        let interactions = uses.remove(&id).unwrap_or_default();
        if !page.take(&id, PromptListItem::new(prompt, interactions))? {
            break;
        }
    }
    Ok(page.reply())
}
