//! Serves a function's routes to Lambda.

use aide::axum::ApiRouter;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use lambda_http::tower::Layer as _;
use tower::util::{MapRequest, MapResponse};
use tower_http::normalize_path::{NormalizePath, NormalizePathLayer};

use super::edge::edge;
use super::invocation;
use crate::clock::Clock;
use crate::config::EdgeConfig;
use crate::metrics;

/// API root; the base URL ends in it.
pub const API_ROOT: &str = "/api/v1";

/// Builds a function's service: the routes below the API root, inside the edge, with or without a trailing
/// slash.
pub fn service(routes: ApiRouter, clock: Clock, config: EdgeConfig) -> NormalizePath<Router> {
    let router: Router = ApiRouter::new().nest(API_ROOT, routes).into();
    normalized(edge(router, clock, config))
}

/// Treats `/prompts/` as `/prompts`, before routing.
pub fn normalized(router: Router) -> NormalizePath<Router> {
    NormalizePathLayer::trim_trailing_slash().layer(router)
}

/// Adapts a service to Lambda's requests. Metrics are written before an answer is sent.
pub fn invoked<S>(
    service: S,
    clock: Clock,
) -> MapResponse<
    MapRequest<S, impl Fn(lambda_http::Request) -> Request + Clone + use<S>>,
    impl Fn(Response) -> Response + Clone,
> {
    let service = MapRequest::new(service, move |request: lambda_http::Request| {
        invocation::adopt(request.map(Body::new), &clock)
    });
    MapResponse::new(service, |response| {
        metrics::flush();
        response
    })
}

/// Serves routes whose answers are streams.
pub async fn serve_streaming(
    routes: ApiRouter,
    clock: Clock,
    config: EdgeConfig,
) -> Result<(), lambda_http::Error> {
    let service = service(routes, clock.clone(), config);
    lambda_http::run_with_streaming_response(invoked(service, clock)).await
}

/// Serves routes that are not below the API root, for a Function URL.
pub async fn serve_at_root(
    routes: ApiRouter,
    clock: Clock,
    config: EdgeConfig,
) -> Result<(), lambda_http::Error> {
    let service = normalized(edge(routes.into(), clock.clone(), config));
    lambda_http::run(invoked(service, clock)).await
}

/// Serves a function's routes to Lambda until the runtime ends it.
pub async fn serve(routes: ApiRouter, clock: Clock, config: EdgeConfig) -> Result<(), lambda_http::Error> {
    let service = service(routes, clock.clone(), config);
    lambda_http::run(invoked(service, clock)).await
}
