//! `DELETE /keys/{key_id}`: revokes an API key.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::AdministerProject;
use platform::http::{Call, Deleted, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Platform, Result};

use crate::App;
use crate::key_model::KeyPath;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Delete, "api_key").on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("revokeKey")
        .tag("access")
        .summary("Revoke an API key")
        .description(
            "Revokes a key for good: the next request with it is refused.\n\n\
             Side effects: an audit record of the action `delete`.",
        )
        .response_with::<200, axum::Json<Deleted>, _>(|response| {
            response.description("The key opens nothing any more.")
        })
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Path(path): Path<KeyPath>,
) -> Result<Reply<Deleted>> {
    app.keys.remove(&call.tenant()?, &path.key_id).await?;
    Ok(Reply::ok(Deleted::one(path.key_id)))
}
