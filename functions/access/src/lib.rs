//! Serves API keys, the members of a project, and what a caller may do.

mod key_create;
mod key_get;
mod key_list;
mod key_model;
mod key_revoke;
mod key_rotate;
mod me;
mod member_add;
mod member_get;
mod member_list;
mod member_model;
mod member_remove;
mod member_update;

use std::sync::Arc;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use identity::Identity;
use identity::records::api_keys::ApiKeys;
use identity::records::members::Members;
use platform::Platform;
use platform::http::{Credentials, authenticate};

#[derive(Clone)]
struct App {
    platform: Platform,
    identity: Arc<Identity>,
    keys: ApiKeys,
    members: Members,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, identity: Arc<Identity>) -> ApiRouter {
    let app = App {
        keys: ApiKeys::new(platform.records.clone()),
        members: Members::new(platform.records.clone()),
        platform: platform.clone(),
        identity,
    };
    let p = &platform;
    ApiRouter::new()
        .api_route("/keys", key_list::route().merge(key_create::route(p)))
        .api_route("/keys/{key_id}", key_get::route().merge(key_revoke::route(p)))
        .api_route("/keys/{key_id}/rotate", key_rotate::route(p))
        .api_route("/me", me::route())
        .api_route("/members", member_list::route().merge(member_add::route(p)))
        .api_route(
            "/members/{member_id}",
            member_get::route()
                .merge(member_update::route(p))
                .merge(member_remove::route(p)),
        )
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .with_state(app)
}
