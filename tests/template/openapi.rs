//! Tests that the OpenAPI file equals the document of a running service.

use serde_json::Value;
use tests::Service;

use crate::translated::read;

#[tokio::test]
async fn the_openapi_file_is_what_the_routers_say_locally() {
    let service = Service::start_local().await;
    let served = service.openapi().await;
    let document: Value = serde_json::from_str(&read("infra/openapi.json")).unwrap();
    assert!(
        served == document,
        "infra/openapi.json is not what the code says; run `make openapi` and commit it"
    );
}
