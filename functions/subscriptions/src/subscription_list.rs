//! `GET /events/subscriptions`: lists the subscriptions of the project, system subscriptions included, oldest
//! first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::subscription::StoredSubscription;
use platform::Result;
use platform::auth::permission::ReadEvents;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Query, Reply};

use crate::App;
use crate::subscription_model::Subscription;

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listSubscriptions")
        .tag("subscriptions")
        .summary("List event subscriptions")
        .description(
            "Answers the subscriptions of the project, oldest first, with the system subscriptions that the operator made. Without \
             parameters it is the complete list; ask for pages with `page_size` and `next_page_token`.",
        )
        .response_with::<200, axum::Json<Vec<Subscription>>, _>(|response| {
            response.description("The subscriptions, oldest first.")
        })
        .with(pages)
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    Query(query): Query<PageQuery>,
) -> Result<Reply<Vec<Subscription>>> {
    let tenant = call.tenant()?;
    let mut page = query.page()?;
    let mut rows = app.subscriptions.rows(&tenant, page.after(), page.read_at_once());
    while let Some(record) = rows.next().await? {
        let subscription = Subscription::new(&tenant, StoredSubscription::from_record(&record)?);
        if !page.take(&record.id, subscription)? {
            break;
        }
    }
    Ok(page.reply())
}
