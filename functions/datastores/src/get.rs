//! `GET /data/{store_id}`: a store with its schema.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::model::{StoreDetail, StorePath};

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getDataStore")
        .tag("data stores")
        .summary("Read a data store")
        .response::<200, axum::Json<StoreDetail>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
) -> Result<Reply<StoreDetail>> {
    let loaded = app.stores.load(&call.tenant()?, &path.store_id).await?;
    Ok(Reply::ok(StoreDetail::new(&loaded)))
}
