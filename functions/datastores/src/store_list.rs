//! `GET /data`: lists the stores of the project, oldest first.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::records::stores::StoreStatus;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::openapi::pages;
use platform::http::{Call, PageQuery, Query, Reply};

use crate::App;
use crate::model::DataStoreListItem;

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listDataStores")
        .tag("data stores")
        .summary("List data stores")
        .description(
            "Answers the active data stores of the project, oldest first, without their schemas. Ask for pages, with \
             `page_size` and `next_page_token`, where there are many; without them the answer is the complete list. Archived data \
             stores are not listed.",
        )
        .response_with::<200, axum::Json<Vec<DataStoreListItem>>, _>(|response| {
            response.description("The active data stores, oldest first.")
        })
        .with(pages)
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Query(query): Query<PageQuery>,
) -> Result<Reply<Vec<DataStoreListItem>>> {
    let mut page = query.page()?;
    let stores = app.stores.records();
    let mut rows = stores.rows(&call.tenant()?, page.after(), page.read_at_once());
    while let Some(store) = rows.next().await? {
        let is_active = store.status == StoreStatus::Active;
        if is_active && !page.take(&store.id, DataStoreListItem::new(&store))? {
            break;
        }
    }
    Ok(page.reply())
}
