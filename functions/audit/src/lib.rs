//! The audit trail: who changed what, and whether it worked.

mod list;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::middleware::from_fn_with_state;
use platform::Platform;
use platform::http::{Credentials, authenticate};

/// The routes, below the API root.
pub fn routes(platform: Platform) -> ApiRouter {
    ApiRouter::new()
        .api_route("/audit-trail", get_with(list::handler, list::doc))
        .layer(from_fn_with_state(
            (platform.clone(), Credentials::Token),
            authenticate,
        ))
        .with_state(platform)
}
