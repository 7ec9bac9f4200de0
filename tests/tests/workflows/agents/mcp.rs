//! Tests agents with tools of an MCP server, whose headers are a secret of the project.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tests::agents::{Agents, calling};
use tokio::net::TcpListener;

/// Value of the secret.
const KEY: &str = "hunter2-docs-key";

/// The `authorization` headers that the server received.
type Log = Arc<Mutex<Vec<String>>>;

/// Serves one tool, which echoes its input.
async fn answer(State(log): State<Log>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    let authorization = headers
        .get("authorization")
        .map(|value| value.to_str().unwrap().to_owned());
    let authorization = authorization.unwrap_or_default();
    log.lock().unwrap().push(authorization.clone());
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": authorization, "version": "1" },
        }),
        "tools/list" => {
            json!({ "tools": [{ "name": "echo", "description": authorization, "inputSchema": { "type": "object" } }] })
        }
        "tools/call" => {
            let text = format!("{authorization} {}", request["params"]["arguments"]);
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).into_response()
}

#[tokio::test]
async fn a_tool_of_a_server_is_called_with_the_secret_which_comes_out_nowhere_locally() {
    let world = Agents::start_local_with(&[("MILLRACE_LOCAL_TARGETS", "true")]).await;
    let log = Log::default();
    let routes = Router::new()
        .route("/mcp", post(answer))
        .with_state(Arc::clone(&log));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });

    let runs = &world.runs;
    let file = runs.service.folder().join("secret.json");
    std::fs::write(
        &file,
        json!({ "authorization": format!("Bearer {KEY}") }).to_string(),
    )
    .unwrap();
    let host = url.split('/').nth(2).unwrap();
    let set = ["secret", "set", "docs", "--value-file", file.to_str().unwrap()];
    let binding = ["--mcp-server", "docs", "--host", host];
    runs.scope.ops(&[&set[..], &binding].concat()).expect_success();
    let servers = json!([{ "name": "docs", "url": url, "headers_secret": "docs" }]);
    world.load(
        "Docs",
        &json!({ "prompts": [], "tools": [], "mcp_servers": servers }),
    );
    world
        .model
        .answers(calling(vec![("docs__echo", json!({ "q": 7 }))]));
    let run = world.begin(&json!({ "interaction_ref": "int-Docs", "data": {} }));
    let detail = runs.wait_for_status(&run, "COMPLETED").await;
    assert_eq!(world.model.requests()[0].tools(), ["docs__echo"]);
    let results = world.results(&run).await;
    assert_eq!(results[0]["text"], "[secret] {\"q\":7}");
    assert!(
        log.lock()
            .unwrap()
            .iter()
            .all(|authorization| *authorization == format!("Bearer {KEY}"))
    );
    let records = json!([
        detail,
        world.messages(&run).await,
        runs.updates(&run, "").await,
        runs.events(&run).await
    ]);
    let bodies: Vec<_> = world
        .model
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    for text in [records.to_string(), json!(bodies).to_string(), runs.service.log()] {
        assert!(!text.contains(KEY), "the secret came out");
    }
}
