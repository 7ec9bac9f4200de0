//! `POST /data`: creates an empty store.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::NewStore;
use platform::auth::permission::WriteStores;
use platform::http::openapi::{answer_header, problem};
use platform::http::text::{
    MAX_DESCRIPTION_LENGTH, MAX_NAME_LENGTH, check_description, check_name, check_tags,
};
use platform::http::{Call, Json, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{DataStore, author};

/// A new data store.
#[derive(Deserialize, JsonSchema)]
pub struct CreateDataStore {
    /// 1 to 200 characters; unique among the active data stores of the project without regard to case.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: String,
    /// Purpose of the data store, for people; at most 10,000 characters.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// Labels to group data stores by; at most 50, of 1 to 200 characters each.
    #[serde(default)]
    #[schemars(length(max = 50), inner(length(min = 1, max = MAX_NAME_LENGTH)))]
    pub tags: Vec<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "data_store").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createDataStore")
        .tag("data stores")
        .summary("Create a data store")
        .description(
            "Creates an empty data store of the project, without tables. Tables come with `createTables` or `updateSchema`, rows \
             with `importRows`. Name, description and tags cannot be changed later.\n\n\
             Side effects: the first version of the store, and an audit record of the action `create`.",
        )
        .response::<201, axum::Json<DataStore>>()
        .with(|operation| answer_header(operation, "location", "Path of the data store."))
        .with(problem(
            ErrorKind::Conflict,
            "Another active data store of the project has the name.",
            "A data store named 'Sales' exists already.",
        ))
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Json(body): Json<CreateDataStore>,
) -> Result<Reply<DataStore>> {
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
        DataStore::new(&created),
    ))
}
