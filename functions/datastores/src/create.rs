//! `POST /data`: a new, empty store.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::NewStore;
use platform::Result;
use platform::auth::permission::WriteStores;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, check_description, check_name, check_tags};
use platform::http::{Call, Json, Reply};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{StoreDetail, author};

/// A new store.
#[derive(Deserialize, JsonSchema)]
pub struct CreateStore {
    /// Its name, unique in the project without regard to case.
    pub name: String,
    /// What it is for.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// Free labels.
    #[serde(default)]
    pub tags: Vec<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createDataStore")
        .tag("data stores")
        .summary("Create a data store")
        .response::<201, axum::Json<StoreDetail>>()
}

pub async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Json(body): Json<CreateStore>,
) -> Result<Reply<StoreDetail>> {
    check_name("name", &body.name)?;
    check_tags(&body.tags)?;
    check_description("description", body.description.as_deref())?;
    let new = NewStore {
        name: body.name,
        description: body.description,
        tags: body.tags,
    };
    let created = app
        .stores
        .create(&call.tenant()?, &author(&call.principal), new)
        .await?;
    let id = &created.record.id;
    Ok(Reply::created(
        id,
        &format!("/data/{id}"),
        StoreDetail::new(&created),
    ))
}
