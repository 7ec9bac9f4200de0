//! `POST /data/{store_id}/versions/{version_id}/rollback`: a new version with the content of an earlier one.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::WriteStores;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::model::{StoreDetail, VersionPath, author};

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("rollBackDataStore")
        .tag("data stores")
        .summary("Roll a data store back to a version")
        .response::<200, axum::Json<StoreDetail>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<VersionPath>,
) -> Result<Reply<StoreDetail>> {
    let author = author(&call.principal);
    let loaded = app
        .stores
        .roll_back(&call.tenant()?, &author, &path.store_id, &path.version_id)
        .await?;
    Ok(Reply::ok(StoreDetail::new(&loaded)))
}
