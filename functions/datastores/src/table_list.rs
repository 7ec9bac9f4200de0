//! `GET /data/{store_id}/tables`: lists the tables of a store in order of creation.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::model::{StorePath, TableSummary};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listTables")
        .tag("data stores")
        .summary("List the tables of a data store")
        .description(
            "Answers the tables of the current version in the order in which they were created, with the number of their columns \
             and rows. The list is complete: a data store has at most 2,000 tables.",
        )
        .response_with::<200, axum::Json<Vec<TableSummary>>, _>(|response| {
            response.description("The tables, in the order in which they were created.")
        })
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
) -> Result<Reply<Vec<TableSummary>>> {
    let loaded = app.stores.load(&call.tenant()?, &path.store_id).await?;
    Ok(Reply::ok(
        loaded.manifest.tables.iter().map(TableSummary::new).collect(),
    ))
}
