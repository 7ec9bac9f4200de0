//! Builds a function's service from its routes.

use aide::axum::ApiRouter;
use axum::Router;
use tower::Layer as _;
use tower_http::normalize_path::{NormalizePath, NormalizePathLayer};

use super::edge::edge;
use super::invocation::API_ROOT;
use crate::clock::Clock;
use crate::config::EdgeConfig;

/// Builds a function's service: the routes below the API root, inside the edge, with or without a trailing
/// slash.
pub fn service(routes: ApiRouter, clock: Clock, config: EdgeConfig) -> NormalizePath<Router> {
    let router: Router = ApiRouter::new().nest(API_ROOT, routes).into();
    normalized(edge(router, clock, config))
}

/// Builds the service of routes that are not below the API root.
pub fn service_at_root(routes: ApiRouter, clock: Clock, config: EdgeConfig) -> NormalizePath<Router> {
    normalized(edge(routes.into(), clock, config))
}

/// Treats `/prompts/` as `/prompts`, before routing.
pub fn normalized(router: Router) -> NormalizePath<Router> {
    NormalizePathLayer::trim_trailing_slash().layer(router)
}
