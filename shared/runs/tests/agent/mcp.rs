//! Tests tools of an MCP server, against a small server over real HTTP.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use prompts::records::interactions::McpServer;
use runs::agent::Agent;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use workflow::status::RunStatus;

use crate::world::{Scripted, agent, calls, conversation, says};

/// Received requests: method and the header `authorization`.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

async fn answer(State(seen): State<Seen>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    let method = request["method"].as_str().unwrap_or_default().to_owned();
    let authorization = headers
        .get("authorization")
        .map(|value| value.to_str().unwrap().to_owned());
    let authorization = authorization.unwrap_or_default();
    seen.lock().unwrap().push((method.clone(), authorization.clone()));
    let text = |text: String, is_error: bool| json!({ "content": [{ "type": "text", "text": text }], "isError": is_error });
    let result = match method.as_str() {
        "initialize" => json!({
            "protocolVersion": request["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "docs", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [
            {
                "name": "search", "description": format!("Searches for {authorization}."),
                "inputSchema": { "type": "object", "description": authorization },
            },
            { "name": "bad name", "inputSchema": { "type": "object" } },
            { "name": "bad-hunter2-key", "inputSchema": { "type": "object" } },
        ] }),
        "tools/call" => match request["params"]["arguments"]["q"].as_str() {
            Some("echo") => text(format!("You sent {authorization}"), false),
            Some("fail") => text("Nothing found.".to_owned(), true),
            Some("huge") => text("x".repeat(900_000), false),
            Some("endless") => text("x".repeat(10_000_000), false),
            Some("stream") => {
                let result = json!({ "jsonrpc": "2.0", "id": request["id"], "result": text("From a stream.".to_owned(), false) });
                return (
                    [("content-type", "text/event-stream")],
                    format!("data: {result}\n\n"),
                )
                    .into_response();
            }
            Some("broken") => {
                // The part that a message quotes ends within the secret.
                let text = format!("{}hunter2-key", " ".repeat(1_995));
                return (StatusCode::INTERNAL_SERVER_ERROR, text).into_response();
            }
            Some("away") => {
                return (StatusCode::FOUND, [("location", "http://169.254.169.254/")]).into_response();
            }
            _ => text("42".to_owned(), false),
        },
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).into_response()
}

/// Starts a server; returns the runtime that drives it, its URL and its received requests.
fn serve() -> (Runtime, String, Seen) {
    let runtime = Runtime::new().unwrap();
    let seen = Seen::default();
    let routes = Router::new().route("/mcp", post(answer)).with_state(seen.clone());
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, routes).await });
    (runtime, url, seen)
}

/// Starts a server with one tool, which answers the name of the server.
fn serve_tool(runtime: &Runtime, server: &'static str, tool: &'static str) -> McpServer {
    let answer = move |Json(request): Json<Value>| async move {
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": request["params"]["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": server, "version": "1" },
            }),
            "tools/list" => json!({ "tools": [{ "name": tool, "inputSchema": { "type": "object" } }] }),
            "tools/call" => json!({ "content": [{ "type": "text", "text": server }] }),
            _ => return StatusCode::ACCEPTED.into_response(),
        };
        Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).into_response()
    };
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let routes = Router::new().route("/mcp", post(answer));
    runtime.spawn(async move { axum::serve(listener, routes).await });
    McpServer {
        name: server.to_owned(),
        url,
        headers_secret: None,
    }
}

#[test]
fn tool_of_one_server_does_not_shadow_that_of_another() {
    let runtime = Runtime::new().unwrap();
    let long = "t".repeat(70).leak();
    let servers = vec![
        serve_tool(&runtime, "a", "b__c"),
        serve_tool(&runtime, "a__b", "c"),
        serve_tool(&runtime, "a_", "b"),
        serve_tool(&runtime, "read", long),
    ];
    let agent = Agent {
        tools: Some(Vec::new()),
        mcp_servers: servers,
        ..agent()
    };
    let model = Scripted::new([Ok(says("Done."))]);
    conversation(&model, agent.clone(), &json!({ "interaction_ref": "i" }))
        .run()
        .unwrap();
    let tools: Vec<String> = model.asked()[0]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert_eq!(tools.len(), 4, "{tools:?}");
    assert!(tools.iter().all(|name| name.len() <= 64), "{tools:?}");
    // Each name calls the server that it stands for, in every run.
    let called: Vec<(&str, Value)> = tools.iter().map(|name| (name.as_str(), json!({}))).collect();
    let model = Scripted::new([Ok(calls(&called)), Ok(says("Done."))]);
    conversation(&model, agent, &json!({ "interaction_ref": "i" }))
        .run()
        .unwrap();
    let answers: Vec<String> = model.results(1).into_iter().map(|(text, _)| text).collect();
    assert_eq!(answers, ["a", "a__b", "a_", "read"]);
}

fn with_server(url: &str) -> Agent {
    Agent {
        mcp_servers: vec![McpServer {
            name: "docs".to_owned(),
            url: url.to_owned(),
            headers_secret: Some("docs-key".to_owned()),
        }],
        ..agent()
    }
}

#[test]
fn tools_of_a_server_are_listed_once_and_called() {
    let (_runtime, url, seen) = serve();
    let asked = [
        "life", "stream", "echo", "fail", "huge", "endless", "broken", "away",
    ];
    let steps = asked
        .iter()
        .map(|q| Ok(calls(&[("docs__search", json!({ "q": q }))])));
    let model = Scripted::new(steps.chain([Ok(says("Done."))]));
    let outcome = conversation(&model, with_server(&url), &json!({ "interaction_ref": "i" }))
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    let tools: Vec<_> = model.asked()[0]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert!(
        tools.contains(&"docs__search".to_owned())
            && tools.iter().any(|name| name.starts_with("docs__bad-name-")),
        "{tools:?}"
    );
    let heard: Vec<_> = (1..=asked.len())
        .map(|request| model.results(request).remove(0))
        .collect();
    assert_eq!(heard[0], ("42".to_owned(), false));
    assert_eq!(heard[1], ("From a stream.".to_owned(), false));
    assert_eq!(heard[2], ("You sent [secret]".to_owned(), false));
    assert_eq!(heard[3], ("Nothing found.".to_owned(), true));
    assert!(
        heard[4].0.len() < 51_000 && heard[4].0.contains("[cut:"),
        "{}",
        heard[4].0.len()
    );
    for failed in &heard[5..] {
        assert!(failed.1 && failed.0.contains("MCP server failed"), "{}", failed.0);
    }
    let seen = seen.lock().unwrap();
    assert_eq!(
        seen.iter().filter(|(method, _)| method == "tools/list").count(),
        1
    );
    assert!(
        seen.iter()
            .all(|(_, authorization)| authorization == "Bearer hunter2-key"),
        "{seen:?}"
    );
    let kept = format!("{:?} {:?}", outcome.history, outcome.updates);
    assert!(!kept.contains("hunter2"), "a secret in the history");
}

#[test]
fn an_unreachable_server_is_missing_and_the_run_continues() {
    for (url, why) in [
        ("http://169.254.169.254/mcp", "is not public"),
        ("http://127.0.0.1:1024/mcp", "MCP server failed"),
        ("https://elsewhere.example/mcp", "is not for the host"),
    ] {
        let model = Scripted::new([Ok(calls(&[("docs__search", json!({}))])), Ok(says("Done."))]);
        let outcome = conversation(&model, with_server(url), &json!({ "interaction_ref": "i" }))
            .run()
            .unwrap();
        assert_eq!(outcome.status, RunStatus::Completed);
        let warning = outcome
            .updates
            .iter()
            .find(|update| update.kind == "WARNING")
            .unwrap();
        assert!(warning.message.contains(why), "{}", warning.message);
        assert!(
            model.results(1)[0].0.contains("There is no tool"),
            "{:?}",
            model.results(1)
        );
    }
    let mut agent = with_server("http://127.0.0.1:1024/mcp");
    agent.mcp_servers[0].headers_secret = Some("missing".to_owned());
    let model = Scripted::new([Ok(says("Done."))]);
    let outcome = conversation(&model, agent, &json!({ "interaction_ref": "i" }))
        .run()
        .unwrap();
    assert!(
        outcome.updates[0].message.contains("does not exist"),
        "{}",
        outcome.updates[0].message
    );
}
