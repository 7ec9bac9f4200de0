//! `POST /keys`: creates an API key. Only this answer shows it.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use identity::api_key::{self, NewApiKey};
use platform::auth::Role;
use platform::auth::permission::AdministerProject;
use platform::http::openapi::created;
use platform::http::text::check_name;
use platform::http::{Call, Json, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Error, Platform, Result, UtcTime};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::key_model::{Key, KeyWithSecret};

/// A new API key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// Purpose of the key, for people; 1 to 200 characters, not unique.
    pub name: String,
    /// Roles whose permissions the key gets. The caller must have all of these permissions.
    pub roles: Vec<Role>,
    /// Time from which on the key opens nothing. Default: it has no end.
    pub expires_at: Option<UtcTime>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "api_key").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createKey")
        .tag("access")
        .summary("Create an API key")
        .description(
            "Creates a key that opens the API in this project. This answer alone shows it. A key never has more permissions than the \
             caller who creates it; what the caller loses later, the key keeps until it is revoked.\n\n\
             Side effects: an audit record of the action `create`.",
        )
        .response_with::<201, axum::Json<KeyWithSecret>, _>(|response| {
            response.description("The new key, which no other answer shows.")
        })
        .with(created)
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Json(body): Json<CreateKey>,
) -> Result<Reply<KeyWithSecret>> {
    let tenant = call.tenant()?;
    check_name("name", &body.name)?;
    let roles = call.principal.grantable("roles", &body.roles)?;
    if body.expires_at.is_some_and(|end| end <= call.now) {
        return Err(Error::invalid_field("expires_at", "is not in the future."));
    }
    call.principal.require_end(body.expires_at)?;
    let new = NewApiKey {
        id: call.new_id(),
        name: body.name,
        roles: roles.iter().map(|role| role.as_str().to_owned()).collect(),
        created_by: call.principal.reference(),
        expires_at: body.expires_at,
    };
    let (record, key) = api_key::create(&tenant, new, call.now);
    app.keys.insert(&tenant, &record).await?;
    let id = record.id.clone();
    let answer = KeyWithSecret {
        record: Key::new(record, call.now),
        key: key.expose().to_owned(),
    };
    Ok(Reply::created(&id, &format!("/keys/{id}"), answer))
}
