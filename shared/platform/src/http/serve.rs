//! From a function's routes to a running Lambda.

use aide::axum::ApiRouter;
use axum::Router;
use lambda_http::tower::Layer as _;
use tower_http::normalize_path::{NormalizePath, NormalizePathLayer};

use super::edge::edge;
use crate::clock::Clock;
use crate::config::EdgeConfig;

/// The API root, which the base URL ends in.
pub const API_ROOT: &str = "/api/v1";

/// A function's routes, whole: below the API root, inside the edge, with or without a trailing slash.
pub fn service(routes: ApiRouter, clock: Clock, config: EdgeConfig) -> NormalizePath<Router> {
    let router: Router = ApiRouter::new().nest(API_ROOT, routes).into();
    normalized(edge(router, clock, config))
}

/// Makes `/prompts/` the same as `/prompts`, before routing.
pub fn normalized(router: Router) -> NormalizePath<Router> {
    NormalizePathLayer::trim_trailing_slash().layer(router)
}

/// The same for routes whose answers are streams.
pub async fn serve_streaming(
    routes: ApiRouter,
    clock: Clock,
    config: EdgeConfig,
) -> Result<(), lambda_http::Error> {
    lambda_http::run_with_streaming_response(service(routes, clock, config)).await
}

/// The same for routes that are not below the API root: a Function URL.
pub async fn serve_at_root(
    routes: ApiRouter,
    clock: Clock,
    config: EdgeConfig,
) -> Result<(), lambda_http::Error> {
    lambda_http::run(normalized(edge(routes.into(), clock, config))).await
}

/// Serves a function's routes to Lambda, until the runtime ends it.
pub async fn serve(routes: ApiRouter, clock: Clock, config: EdgeConfig) -> Result<(), lambda_http::Error> {
    lambda_http::run(service(routes, clock, config)).await
}
