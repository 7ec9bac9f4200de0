//! The edge around a router: the base path of a stage, panics.
#![cfg(test)]

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use axum::routing::post;
use platform::Clock;
use platform::config::{CorsOrigins, EdgeConfig};
use platform::http::{Reply, edge};
use tower::ServiceExt as _;

async fn location(base_path: &str) -> String {
    let config = EdgeConfig {
        cors: CorsOrigins::None,
        base_path: base_path.to_owned(),
    };
    let routes = Router::new().route("/x", post(|| async { Reply::created("7", "/prompts/7", "made") }));
    let request = Request::post("/x").body(Body::empty()).unwrap();
    let response = edge(routes, Clock::System, config)
        .oneshot(request)
        .await
        .unwrap();
    response.headers()[header::LOCATION].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_location_of_a_new_resource_leads_through_the_stage() {
    assert_eq!(location("").await, "/api/v1/prompts/7");
    assert_eq!(location("/prod").await, "/prod/api/v1/prompts/7");
}
