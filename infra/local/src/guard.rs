//! Restricts the servers behind the public port to programs that can read the data directory.
//!
//! Other users of the machine can reach every port of its loopback interface, and so can the web pages in its
//! browsers. A page cannot omit `Origin` on a request whose answer it can read or that has a body, and it
//! does not have the secret.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use platform::config::Secret;
use subtle::ConstantTimeEq as _;

use crate::hosts::Hosts;

/// Returns the header `Authorization` of a holder of the secret.
pub fn authorization(secret: &Secret) -> String {
    format!("Bearer {}", secret.expose())
}

/// Returns the routes for callers with the secret.
pub fn for_holders_of(secret: Secret, routes: Router) -> Router {
    without_browsers(routes.layer(from_fn_with_state(Arc::new(secret), prove)))
}

/// Returns the routes for callers that are not browsers.
pub fn without_browsers(routes: Router) -> Router {
    routes.layer(from_fn(refuse_browsers))
}

async fn prove(State(secret): State<Arc<Secret>>, request: Request, next: Next) -> Response {
    let header = request.headers().get(AUTHORIZATION);
    let header = header.map_or(&[][..], |value| value.as_bytes());
    if bool::from(header.ct_eq(authorization(&secret).as_bytes())) {
        return next.run(request).await;
    }
    refusal("This port is for programs that can read the data directory of the runner.")
}

async fn refuse_browsers(request: Request, next: Next) -> Response {
    if request.headers().contains_key(ORIGIN) || !Hosts::default().know(&request) {
        return refusal("This port is not for browsers.");
    }
    next.run(request).await
}

fn refusal(sentence: &'static str) -> Response {
    (StatusCode::FORBIDDEN, sentence).into_response()
}
