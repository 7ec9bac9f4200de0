//! Tests the edge around a router, with requests as Lambda passes them.
#![cfg(test)]

use std::future::pending;
use std::time::Duration;

use aide::axum::ApiRouter;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode, header};
use axum::routing::get;
use lambda::http::invoked;
use lambda_http::aws_lambda_events::apigw::ApiGatewayProxyRequestContext;
use lambda_http::request::RequestContext;
use lambda_http::{Context, RequestExt as _};
use platform::config::{CorsOrigins, EdgeConfig};
use platform::http::Reply;
use platform::http::service::service;
use platform::{Clock, Error};
use serde_json::Value;
use tower::ServiceExt as _;

/// A request of API Gateway: the path that the caller requested, and the one that the function receives.
fn request(requested: &str, path: &str, milliseconds: i64) -> lambda_http::Request {
    let mut gateway = ApiGatewayProxyRequestContext::default();
    gateway.path = Some(requested.to_owned());
    gateway.request_id = Some("gateway-id".to_owned());
    let mut context = Context::default();
    context.deadline = u64::try_from(Clock::System.now().as_millis() + milliseconds).unwrap();
    Request::get(path)
        .body(lambda_http::Body::Empty)
        .unwrap()
        .with_request_context(RequestContext::ApiGatewayV1(gateway))
        .with_lambda_context(context)
}

async fn answer(request: lambda_http::Request) -> Response<Body> {
    let routes = ApiRouter::new()
        .route("/x", get(|| async { Reply::created("7", "/prompts/7", "made") }))
        .route("/hangs", get(pending::<StatusCode>))
        .route(
            "/busy",
            get(|| async { Err::<Reply<&str>, _>(Error::unavailable("away")) }),
        );
    let config = EdgeConfig {
        cors: CorsOrigins::None,
    };
    let service = service(routes, Clock::System, config);
    invoked(service, Clock::System).oneshot(request).await.unwrap()
}

#[tokio::test]
async fn a_location_has_the_path_that_the_caller_came_by() {
    for (requested, path, location) in [
        ("/prod/api/v1/x", "/api/v1/x", "/prod/api/v1/prompts/7"),
        ("/prod/api/v1/x/", "/api/v1/x/", "/prod/api/v1/prompts/7"),
        ("/api/v1/x", "/api/v1/x", "/api/v1/prompts/7"),
        ("/v2/api/v1/x", "/v2/api/v1/x", "/v2/api/v1/prompts/7"),
    ] {
        let response = answer(request(requested, path, 28_000)).await;
        assert_eq!(response.status(), StatusCode::CREATED, "{requested}");
        assert_eq!(response.headers()[header::LOCATION], location, "{requested}");
    }
}

#[tokio::test]
async fn a_request_has_the_id_of_the_gateway_or_of_its_caller() {
    let response = answer(request("/api/v1/x", "/api/v1/x", 28_000)).await;
    assert_eq!(response.headers()["x-request-id"], "gateway-id");
    let mut identified = request("/api/v1/x", "/api/v1/x", 28_000);
    identified
        .headers_mut()
        .insert("x-request-id", "mine".parse().unwrap());
    assert_eq!(answer(identified).await.headers()["x-request-id"], "mine");
}

#[tokio::test(start_paused = true)]
async fn work_ends_two_seconds_before_the_function_does() {
    let began = tokio::time::Instant::now();
    let response = answer(request("/api/v1/hangs", "/api/v1/hangs", 28_000)).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    let took = began.elapsed();
    assert!(
        took <= Duration::from_millis(26_001) && took > Duration::from_secs(25),
        "{took:?}"
    );
    let body: Value = serde_json::from_slice(&to_bytes(response.into_body(), 10_000).await.unwrap()).unwrap();
    assert_eq!(body["error"], "timeout");
}

#[tokio::test]
async fn a_service_that_is_busy_says_when_to_come_again() {
    let response = answer(request("/api/v1/busy", "/api/v1/busy", 28_000)).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()[header::RETRY_AFTER], "1");
}
