//! `GET /data`: the stores of the project, oldest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::openapi::with_errors;
use platform::http::{Call, Reply};

use crate::App;
use crate::model::StoreListItem;

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("store_list")
        .tag("data stores")
        .summary("List data stores")
        .response::<200, axum::Json<Vec<StoreListItem>>>()
}

pub async fn handler(call: Call<ReadStores>, State(app): State<App>) -> Result<Reply<Vec<StoreListItem>>> {
    let stores = app.stores.records().list(&call.tenant()?).await?;
    Ok(Reply::ok(stores.iter().map(StoreListItem::new).collect()))
}
