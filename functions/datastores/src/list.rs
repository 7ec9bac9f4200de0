//! `GET /data`: the stores of the project, oldest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, PageQuery, Query, Reply};
use platform::records::stores::StoreStatus;

use crate::App;
use crate::model::StoreListItem;

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listDataStores")
        .tag("data stores")
        .summary("List data stores")
        .response::<200, axum::Json<Vec<StoreListItem>>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Query(query): Query<PageQuery>,
) -> Result<Reply<Vec<StoreListItem>>> {
    let mut page = query.page()?;
    let stores = app.stores.records();
    let mut rows = stores.rows(&call.tenant()?, page.after(), page.read_at_once())?;
    while let Some(store) = rows.next().await? {
        let is_active = store.status == StoreStatus::Active;
        if is_active && !page.take(&store.id, StoreListItem::new(&store))? {
            break;
        }
    }
    Ok(page.reply())
}
