//! The OpenAPI file is what the routers of a running service say.

use serde_json::Value;
use tests::{Method, Service};

use crate::translated::read;

#[tokio::test]
async fn the_openapi_file_is_what_the_routers_say() {
    let service = Service::start().await;
    let served = service
        .request(Method::GET, &format!("{}/openapi.json", service.origin()))
        .await
        .body;
    let kept: Value = serde_json::from_str(&read("infra/openapi.json")).unwrap();
    assert!(
        served == kept,
        "infra/openapi.json is not what the code says; run `make openapi` and commit it"
    );
}
