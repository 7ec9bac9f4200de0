//! `GET /data/{store_id}`: returns a store with its schema.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::model::{DataStore, StorePath};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getDataStore")
        .tag("data stores")
        .summary("Read a data store")
        .description(
            "Answers a data store as its current version is, with its whole schema and the number of rows. It shows no rows: query \
             them. An archived data store is a 404.",
        )
        .response::<200, axum::Json<DataStore>>()
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
) -> Result<Reply<DataStore>> {
    let loaded = app.stores.load(&call.tenant()?, &path.store_id).await?;
    Ok(Reply::ok(DataStore::new(&loaded)))
}
