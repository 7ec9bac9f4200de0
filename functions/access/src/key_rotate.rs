//! `POST /keys/{key_id}/rotate`: gives an API key a new secret. Only this answer shows it.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use identity::api_key::{self, MAX_OVERLAP_SECONDS};
use platform::auth::Role;
use platform::auth::permission::AdministerProject;
use platform::http::openapi::problem;
use platform::http::{Call, OptionalJson, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::key_model::{Key, KeyPath, KeyWithSecret};

/// Time for which the secret before the rotation opens, in seconds: a day.
const OVERLAP_SECONDS: u64 = 24 * 3_600;

/// How to rotate.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateKey {
    /// Time for which the secret before still opens, in seconds, at most 30 days. 0 ends it now. Default:
    /// 86,400, a day.
    #[schemars(range(max = MAX_OVERLAP_SECONDS))]
    pub overlap_seconds: Option<u64>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "api_key").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("rotateKey")
        .tag("access")
        .summary("Rotate an API key")
        .description(
            "Gives a key a new secret, which this answer alone shows. The secret before opens for the time of `overlap_seconds`, so \
             that programs can change over; one before that opens nothing at once. Name, roles and end stay.\n\n\
             Side effects: an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<KeyWithSecret>, _>(|response| {
            response.description("The key with its new secret, which no other answer shows.")
        })
        .with(problem(
            ErrorKind::Conflict,
            "The key was rotated or revoked at the same time, or has expired.",
            "The API key '0198c5f0-…' was rotated or revoked at the same time; read it again.",
        ))
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Path(path): Path<KeyPath>,
    OptionalJson(body): OptionalJson<RotateKey>,
) -> Result<Reply<KeyWithSecret>> {
    let tenant = call.tenant()?;
    let overlap = body.overlap_seconds.unwrap_or(OVERLAP_SECONDS);
    if overlap > MAX_OVERLAP_SECONDS {
        return Err(Error::invalid_field(
            "overlap_seconds",
            format!("is more than {MAX_OVERLAP_SECONDS}, which is 30 days."),
        ));
    }
    let before = app.keys.get(&tenant, &path.key_id).await?;
    if before.expires_at.is_some_and(|end| end <= call.now) {
        return Err(Error::conflict("The API key has expired; create another one."));
    }
    call.principal.require_end(before.expires_at)?;
    // The caller gets the secret, and so the permissions of the key.
    let roles: Vec<Role> = before.roles.iter().filter_map(|role| role.parse().ok()).collect();
    if !roles.is_empty() {
        call.principal.grantable("roles", &roles)?;
    }
    let (next, key) = api_key::rotated(before.clone(), call.now.plus_ms(overlap * 1_000));
    app.keys.rotate(&tenant, &next, &before).await?;
    Ok(Reply::ok(KeyWithSecret {
        record: Key::new(next, call.now),
        key: key.expose().to_owned(),
    }))
}
