//! Tests the stream as it is deployed: its process gets no notifications of changes and polls the records.
#![cfg(test)]

use axum::body::Body;
use axum::http::Request;
use futures::StreamExt as _;
use local::data_dir::DataDir;
use local::issuer::{Issuer, Subject};
use local::runner::Service;
use local::services::{Ports, Services};
use platform::http::service::service;
use platform::{Clock, Tenant};
use serde_json::json;
use stream_function::Stream;
use tower::ServiceExt as _;
use workflow::Payload;
use workflow::engine::StartRun;
use workflow::updates::UpdateMessage;

fn update(message: &str) -> UpdateMessage {
    UpdateMessage {
        timestamp: 0,
        kind: "update".to_owned(),
        message: message.to_owned(),
        details: None,
        workstream_id: None,
    }
}

#[tokio::test]
async fn a_stream_that_is_not_told_sees_messages_and_the_end_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(&folder.path().join("data")).unwrap();
    let services = Services::open(&data).unwrap();
    let token = Issuer::open(&data)
        .unwrap()
        .token(&Subject::default(), Clock::System.now(), 600)
        .unwrap();
    let local = Service::new(&services, Ports::default()).unwrap();
    let engine = &local.workflows.engine;
    let tenant = Tenant::new("acme", "demo").unwrap();
    let input = Payload::from_value(&json!({ "title": "Wait" })).unwrap();
    let start = StartRun::new("Approval", "waits", input);
    let run_id = engine.start(&tenant, &start).await.unwrap().run_id;

    let stream = Stream::polling(engine.clone(), local.workflows.runs.clone());
    let routes = stream_function::routes(local.platform.clone(), stream);
    let router = service(routes, Clock::System, local.platform.edge.clone());
    let request = Request::get(format!("/api/v1/workflows/runs/waits/{run_id}/stream?since=0"))
        .header("authorization", format!("Bearer {token}"))
        .body(Body::empty())
        .unwrap();
    let response = router.oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let mut frames = response.into_body().into_data_stream();
    let mut text = String::new();
    let mut read_until = async |part: &str| {
        while !text.contains(part) {
            let frame = frames.next().await.expect("the stream goes on").unwrap();
            text.push_str(&String::from_utf8_lossy(&frame));
        }
    };
    engine
        .post_update(&tenant, &run_id, &update("first"))
        .await
        .unwrap();
    read_until("first").await;
    engine
        .post_update(&tenant, &run_id, &update("second"))
        .await
        .unwrap();
    read_until("second").await;
    // End the run without a message.
    engine.terminate(&tenant, &run_id, None, "test").await.unwrap();
    read_until("\"type\":\"terminated\"").await;
}
