//! `POST /data/{store_id}/versions`: a snapshot, the current content under a name.

use std::collections::BTreeMap;

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::WriteStores;
use platform::http::text::{check_name, check_text};
use platform::http::{Call, Json, Path, Reply};
use platform::records::stores::StoreVersionRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::{StorePath, author};

/// A new snapshot.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSnapshot {
    /// Its name, unique in the store without regard to case.
    pub name: String,
    /// Why.
    pub message: Option<String>,
}

/// A snapshot.
#[derive(Serialize, JsonSchema)]
pub struct SnapshotDetail {
    /// What a list shows.
    #[serde(flatten)]
    pub version: StoreVersionRecord,
    /// The store.
    pub store_id: String,
    /// Its tables, by name.
    pub tables: BTreeMap<String, SnapshotTable>,
}

/// A table of a snapshot.
#[derive(Serialize, JsonSchema)]
pub struct SnapshotTable {
    /// Its rows.
    pub row_count: u64,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createStoreSnapshot")
        .tag("data stores")
        .summary("Make a snapshot of a data store")
        .response::<201, axum::Json<SnapshotDetail>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<CreateSnapshot>,
) -> Result<Reply<SnapshotDetail>> {
    check_name("name", &body.name)?;
    check_text("message", body.message.as_deref())?;
    let (store, author) = (&path.store_id, author(&call.principal));
    let made = app
        .stores
        .snapshot(&call.tenant()?, &author, store, &body.name, body.message)
        .await?;
    let tables = made.manifest.tables.iter().map(|table| {
        let row_count = table.row_count();
        (table.name.clone(), SnapshotTable { row_count })
    });
    let location = format!("/data/{store}/versions/{}", made.version.id);
    let detail = SnapshotDetail {
        tables: tables.collect(),
        store_id: store.clone(),
        version: made.version,
    };
    Ok(Reply::created(store, &location, detail))
}
