//! `GET /events/channels`: lists the channels of the project, oldest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::channel::StoredChannel;
use platform::Result;
use platform::auth::permission::ReadEvents;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Query, Reply};

use crate::App;
use crate::channel_model::Channel;

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listChannels")
        .tag("channels")
        .summary("List ingest channels")
        .description(
            "Answers the channels of the project, oldest first. Without parameters it is the complete list; ask for pages with \
             `page_size` and `next_page_token`. Secrets and tokens are never part of it.",
        )
        .response_with::<200, axum::Json<Vec<Channel>>, _>(|response| response.description("The channels, oldest first."))
        .with(pages)
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    Query(query): Query<PageQuery>,
) -> Result<Reply<Vec<Channel>>> {
    let tenant = call.tenant()?;
    let mut page = query.page()?;
    let mut rows = app.channels.rows(&tenant, page.after(), page.read_at_once());
    while let Some(record) = rows.next().await? {
        let channel = Channel::new(&tenant, StoredChannel::from_record(&record)?);
        if !page.take(&record.id, channel)? {
            break;
        }
    }
    Ok(page.reply())
}
