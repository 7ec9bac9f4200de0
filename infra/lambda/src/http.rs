//! Serves a function's routes to Lambda.

use aide::axum::ApiRouter;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use lambda_http::request::RequestContext;
use lambda_http::{Error, RequestExt as _};
use platform::config::EdgeConfig;
use platform::http::invocation::{self, Invocation};
use platform::http::service::{service, service_at_root};
use platform::{Clock, Platform, telemetry};
use tower::Service;
use tower::util::{AndThen, MapRequest};

use crate::only_checks_config;

/// Serves a function's routes until Lambda ends it.
pub async fn serve(platform: &Platform, routes: ApiRouter) -> Result<(), Error> {
    let clock = platform.clock.clone();
    let service = service(routes, clock.clone(), platform.edge.clone());
    if only_checks_config() {
        return Ok(());
    }
    lambda_http::run(invoked(service, clock)).await
}

/// Serves routes whose answers are streams.
pub async fn serve_streaming(platform: &Platform, routes: ApiRouter) -> Result<(), Error> {
    let clock = platform.clock.clone();
    let service = service(routes, clock.clone(), platform.edge.clone());
    if only_checks_config() {
        return Ok(());
    }
    lambda_http::run_with_streaming_response(invoked(service, clock)).await
}

/// Serves routes that are not below the API root, for a Function URL.
pub async fn serve_at_root(routes: ApiRouter, clock: Clock, config: EdgeConfig) -> Result<(), Error> {
    let service = service_at_root(routes, clock.clone(), config);
    if only_checks_config() {
        return Ok(());
    }
    lambda_http::run(invoked(service, clock)).await
}

/// Adapts a service to Lambda's requests. Metrics and traces are written before an answer is sent.
pub fn invoked<S>(
    service: S,
    clock: Clock,
) -> impl Service<lambda_http::Request, Response = Response, Error = S::Error, Future: Send> + Clone + use<S>
where
    S: Service<Request, Response = Response, Future: Send> + Clone,
{
    let service = MapRequest::new(service, move |request: lambda_http::Request| {
        with_invocation(request.map(Body::new), &clock)
    });
    AndThen::new(service, async |response| {
        telemetry::flush().await;
        Ok(response)
    })
}

fn with_invocation(mut request: Request, clock: &Clock) -> Request {
    let Some(context) = request.lambda_context_ref().cloned() else {
        return request;
    };
    let gateway = request.request_context_ref().cloned();
    let (gateway_request_id, requested_path) = match &gateway {
        Some(RequestContext::ApiGatewayV1(gateway)) => (gateway.request_id.clone(), gateway.path.as_deref()),
        Some(RequestContext::ApiGatewayV2(url)) => (url.request_id.clone(), None),
        _ => (None, None),
    };
    let invocation = Invocation {
        function_ends: clock.instant_of(context.deadline),
        trace: context.xray_trace_id.as_deref(),
        gateway_request_id,
        requested_path,
    };
    invocation::adopt(&mut request, invocation);
    request
}
