//! `GET /keys`: lists the API keys of the project, oldest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::AdministerProject;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Query, Reply};

use crate::App;
use crate::key_model::Key;

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listKeys")
        .tag("access")
        .summary("List API keys")
        .description(
            "Answers the API keys of the project without their secrets, oldest first. Without parameters it is the complete list; \
             ask for pages with `page_size` and `next_page_token`.",
        )
        .response_with::<200, axum::Json<Vec<Key>>, _>(|response| response.description("The keys, oldest first."))
        .with(pages)
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Query(query): Query<PageQuery>,
) -> Result<Reply<Vec<Key>>> {
    let tenant = call.tenant()?;
    let mut page = query.page()?;
    let mut rows = app.keys.rows(&tenant, page.after(), page.read_at_once());
    while let Some(key) = rows.next().await? {
        let id = key.id.clone();
        if !page.take(&id, Key::new(key, call.now))? {
            break;
        }
    }
    Ok(page.reply())
}
