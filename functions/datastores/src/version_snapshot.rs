//! `POST /data/{store_id}/versions`: takes a snapshot: gives the current content a name.

use std::collections::BTreeMap;

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::records::stores::StoreVersion;
use platform::auth::permission::WriteStores;
use platform::http::openapi::{answer_header, problem};
use platform::http::text::{check_name, check_text};
use platform::http::{Call, Json, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::model::{CreateSnapshot, StorePath, author};

/// A snapshot: a version with a name.
#[derive(Serialize, JsonSchema)]
pub struct StoreSnapshot {
    #[serde(flatten)]
    pub version: StoreVersion,
    /// Id of the data store.
    pub store_id: String,
    /// Tables of the snapshot by name.
    pub tables: BTreeMap<String, SnapshotTable>,
}

/// A table of a snapshot.
#[derive(Serialize, JsonSchema)]
pub struct SnapshotTable {
    /// Number of rows.
    pub row_count: u64,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "data_store").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createStoreSnapshot")
        .tag("data stores")
        .summary("Make a snapshot of a data store")
        .description(
            "Makes a version with a name and the content of the current one: to find it again before a risky change. No file is \
             copied, so it costs the same at any size. No collection of old versions removes a snapshot, and no operation \
             deletes it. `location` names the version, which has no operation of its own to read it: query it, or roll back to it.\n\n\
             Side effects: a version, and an audit record of the action `update`.",
        )
        .response::<201, axum::Json<StoreSnapshot>>()
        .with(|operation| answer_header(operation, "location", "Path of the new version."))
        .with(problem(
            ErrorKind::Conflict,
            "A snapshot of the data store has the name, without regard to case.",
            "A snapshot named 'before-cleanup' exists already; case does not count.",
        ))
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<CreateSnapshot>,
) -> Result<Reply<StoreSnapshot>> {
    check_name("name", &body.name)?;
    check_text("message", body.message.as_deref())?;
    let (store, author) = (&path.store_id, author(&call.principal));
    let snapshot = app
        .stores
        .snapshot(&call.tenant()?, &author, store, &body.name, body.message)
        .await?;
    let tables = snapshot.manifest.tables.iter().map(|table| {
        let row_count = table.row_count();
        (table.name.clone(), SnapshotTable { row_count })
    });
    let location = format!("/data/{store}/versions/{}", snapshot.version.id);
    let detail = StoreSnapshot {
        tables: tables.collect(),
        store_id: store.clone(),
        version: snapshot.version,
    };
    Ok(Reply::created(store, &location, detail))
}
