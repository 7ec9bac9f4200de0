//! Attacks on the paths of calls by the data of events: no value makes a request for another resource.

use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tests::Events;
use tokio::net::TcpListener;

use crate::own_servers::call_results;

/// Values of `{card}{suffix}` at the end of a path; null is a missing value.
const ROWS: [(Option<&str>, &str); 17] = [
    (None, ""),
    (Some(""), ""),
    (Some("."), ""),
    (Some(".."), ""),
    (Some("."), "."),
    (Some("/"), ""),
    (Some("../../8"), ""),
    (Some("x/../.."), ""),
    (Some("..\\..\\8"), ""),
    (Some("\\"), ""),
    (Some("%2e%2e"), ""),
    (Some("%2E."), ""),
    (Some("%2e"), "%2e"),
    (Some("%252e%252e"), ""),
    (Some("..%2f..%2f8"), ""),
    (Some("..;a=b"), ""),
    (Some(".. "), ""),
];

/// Serves an OpenAPI document of an API at `origin`. Returns the document's URL.
async fn document(origin: &str) -> String {
    let parameter = |name| json!({ "name": name, "in": "path", "required": true });
    let document = json!({
        "openapi": "3.0.0", "servers": [{ "url": origin }],
        "paths": { "/customers/{customer}/cards/{card}{suffix}": {
            "parameters": [parameter("customer"), parameter("card"), parameter("suffix")],
            "delete": { "operationId": "removeCard" },
        } },
    });
    let routes = Router::new().route("/document", get(move || async move { Json(document) }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/document", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

#[tokio::test]
async fn no_value_leads_a_call_to_another_resource_locally() {
    let events = Events::start_local().await;
    let origin = &events.receiver.origin;
    let document = document(origin).await;
    let mut calls = Vec::new();
    let mut data = Vec::new();
    for (index, (card, suffix)) in ROWS.into_iter().enumerate() {
        data.push(json!({ "customer": 7, "card": card, "suffix": suffix }));
        let input = json!({ "from": format!("${{ $context.event.details.payload.rows[{index}] }}") });
        let with = json!({
            "document": { "endpoint": document }, "operationId": "removeCard",
            "parameters": { "customer": "${ .customer }", "card": "${ .card }", "suffix": "${ .suffix }" },
        });
        calls.push(json!({ "call": "openapi", "input": input, "with": with }));
        for path in [
            "/customers/{customer}/cards/{card}{suffix}",
            "/customers/{customer}/cards/{+card}{+suffix}",
        ] {
            let with = json!({ "method": "delete", "endpoint": format!("{origin}{path}") });
            calls.push(json!({ "call": "http", "input": input, "with": with }));
        }
        let computed = format!("${{ \"{origin}/customers/7/cards/\" + (.card // \"..\") + .suffix }}");
        let with = json!({ "method": "delete", "endpoint": computed });
        // What an expression computes has no part that is known to be a value, so it may be empty.
        if !matches!(card, Some("" | "/" | "\\")) {
            calls.push(json!({ "call": "http", "input": input, "with": with }));
        }
    }
    let results = call_results(&events, &calls, &json!({ "rows": data })).await;
    for (index, call) in calls.iter().enumerate() {
        let outcome = &results[&format!("call{index}")];
        assert!(outcome["refused"].is_string(), "{call}: {outcome}");
    }
    let received = events.receiver.received();
    let others: Vec<_> = received
        .iter()
        .filter(|request| !request.path.starts_with("/told"))
        .collect();
    assert!(others.is_empty(), "{} requests", others.len());
}
