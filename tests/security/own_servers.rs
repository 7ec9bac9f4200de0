//! Attacks on the runner through its own requests: they come from the machine and the user that it trusts,
//! and must reach none of its ports.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use tests::agents::{Agents, calling};
use tests::stores::elsewhere;
use tests::{Events, unique};
use tokio::net::TcpListener;

/// Hosts that lead to this machine.
const HOSTS: [&str; 12] = [
    "127.0.0.1",
    "127.1",
    "127.8.9.10",
    "2130706433",
    "0x7f.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "[::]",
    "localhost",
    "LOCALHOST.",
    "app.localhost",
];

/// Headers that only a browser, a proxy or the connection sets.
const HEADERS: [&str; 14] = [
    "Origin",
    "referer",
    "Cookie",
    "Sec-Fetch-Site",
    "sec-fetch-mode",
    "Host",
    "Forwarded",
    "X-Forwarded-For",
    "x_forwarded_host",
    "Proxy-Authorization",
    "Connection",
    "Transfer-Encoding",
    "X-Real-IP",
    "Via",
];

/// Returns a service with a console.
async fn started() -> (Events, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let files: PathBuf = folder.path().join("console");
    std::fs::create_dir_all(files.join("assets")).unwrap();
    std::fs::write(files.join("index.html"), crate::console::PAGE).unwrap();
    let variables = [("MILLRACE_CONSOLE_DIR", files.to_str().unwrap())];
    (Events::start_local_with(&variables).await, folder)
}

/// Returns the ports that the runner's process listens at.
fn listening(events: &mut Events) -> BTreeSet<u16> {
    let process = events.service.process().id();
    let folder = std::fs::read_dir(format!("/proc/{process}/fd"));
    let Ok(folder) = folder else {
        return published(events);
    };
    let links = folder.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let sockets: BTreeSet<String> = links.map(|link| link.display().to_string()).collect();
    let mut ports = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        let table = std::fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_own = sockets.contains(&format!("socket:[{}]", fields[9]));
            if fields[3] == "0A" && is_own {
                let port = fields[1].rsplit(':').next().unwrap();
                ports.insert(u16::from_str_radix(port, 16).unwrap());
            }
        }
    }
    assert!(ports.is_superset(&published(events)), "{ports:?}");
    ports
}

/// Returns the ports that the runner tells of: of the API, and of its queues.
fn published(events: &Events) -> BTreeSet<u16> {
    let queues = std::fs::read(events.service.data_dir().join("queues.json")).unwrap();
    let queues: Value = serde_json::from_slice(&queues).unwrap();
    let port = |url: &str| url.rsplit(':').next().unwrap().parse().unwrap();
    BTreeSet::from([port(events.origin()), port(queues["endpoint"].as_str().unwrap())])
}

fn urls(ports: &BTreeSet<u16>) -> Vec<String> {
    let of_port = |port| HOSTS.map(|host| format!("http://{host}:{port}/console"));
    ports.iter().flat_map(of_port).collect()
}

fn process(tasks: &Value) -> Value {
    json!({
        "name": "Calls", "run_as_role": "executor", "filter": { "event_category": ["external"] },
        "target": { "type": "process", "definition": {
            "document": { "dsl": "1.0.3", "namespace": "attack", "name": "calls", "version": "1.0.0" },
            "do": tasks,
        } },
    })
}

/// Makes calls in a process that an event with this payload starts. Returns what each of them gave: its
/// output, or the reason why there is none.
pub async fn call_results(events: &Events, calls: &[Value], payload: &Value) -> Map<String, Value> {
    let mut tasks: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let mut attempt = call.clone();
            attempt["output"] = json!({ "as": "{ reached: tostring }" });
            let rest = json!([{ "refuse": { "set": { "refused": "${ $error.detail }" } } }]);
            let name = format!("call{index}");
            let export = format!("${{ $context + {{ seen: (($context.seen // {{}}) + {{ {name}: . }}) }} }}");
            json!({ name: { "try": [{ "attempt": attempt }], "catch": { "as": "error", "do": rest }, "export": { "as": export } } })
        })
        .collect();
    let path = format!("/{}", unique("told"));
    let url = format!("{}{path}", events.receiver.origin);
    tasks.push(json!({ "tell": { "call": "http", "with": {
        "method": "post", "endpoint": url, "body": "${ $context.seen }",
    } } }));
    let channel = events.plain_channel().await;
    let subscription = events.subscribe(&process(&json!(tasks))).await;
    events.event(&channel, payload).await;
    let request = events.received(&path, 1).await.remove(0).json();
    let subscription = format!("/events/subscriptions/{}", subscription["id"].as_str().unwrap());
    events
        .delete(&events.token, &subscription)
        .await
        .expect_status(200);
    request.as_object().unwrap().clone()
}

fn get_call(url: &str) -> Value {
    json!({ "call": "http", "with": { "method": "get", "endpoint": url } })
}

/// Starts a server that leads on to a URL: by a redirect, and by the server of an OpenAPI document.
async fn leading_to(origin: &str) -> SocketAddr {
    let (moved, document) = (
        format!("{origin}/console"),
        json!({
            "openapi": "3.0.0", "servers": [{ "url": origin }],
            "paths": { "/console/token": { "post": { "operationId": "token", "parameters": [
                { "name": "Origin", "in": "header" }, { "name": "session", "in": "cookie" },
            ] } } },
        }),
    );
    let redirect = move || async move {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, moved.parse().unwrap());
        (StatusCode::FOUND, headers)
    };
    let routes = Router::new()
        .route("/moved", get(redirect))
        .route("/document", get(move || async move { Json(document) }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

#[tokio::test]
async fn no_call_of_a_process_reaches_the_runner_locally() {
    let (mut events, _folder) = started().await;
    let ports = listening(&mut events);
    assert!(ports.len() >= 2, "{ports:?}");
    let origin = events.origin().to_owned();
    let leading = leading_to(&origin).await;
    let mut calls: Vec<Value> = urls(&ports).iter().map(|url| get_call(url)).collect();
    // The page of a token, as the console asks for it.
    let token = json!({ "method": "post", "endpoint": format!("{origin}/console/token"), "headers": format!("${{ {{ origin: \"{origin}\" }} }}") });
    calls.push(json!({ "call": "http", "with": token }));
    calls.push(get_call(&format!("http://{leading}/moved")));
    let mut followed = get_call(&format!("http://{leading}/moved"));
    followed["with"]["redirect"] = true.into();
    for parameters in [json!({}), json!({ "Origin": origin }), json!({ "session": "1" })] {
        calls.push(json!({ "call": "openapi", "with": {
            "document": { "endpoint": format!("http://{leading}/document") },
            "operationId": "token", "parameters": parameters,
        } }));
    }
    let results = call_results(&events, &calls, &json!({})).await;
    assert_eq!(results.len(), calls.len());
    for (index, call) in calls.iter().enumerate() {
        let outcome = &results[&format!("call{index}")];
        assert!(outcome["refused"].is_string(), "{call}: {outcome}");
        assert!(!outcome.to_string().contains("eyJ"), "a token: {outcome}");
    }
    // A redirect is an answer and leads nowhere.
    let results = call_results(
        &events,
        &[followed, get_call(&format!("http://{leading}/document"))],
        &json!({}),
    )
    .await;
    assert_eq!(results["call0"], json!({ "reached": "null" }));
    assert!(results["call1"]["reached"].as_str().unwrap().contains("openapi"));
}

#[tokio::test]
async fn no_webhook_and_no_import_is_taken_to_the_runner_locally() {
    let (mut events, _folder) = started().await;
    let ports = listening(&mut events);
    let store = json!({ "name": unique("store") });
    let store = events
        .post(&events.token, "/data", &store)
        .await
        .expect_status(201)
        .id();
    let table = json!({ "tables": [{ "name": "t", "columns": [{ "name": "id", "type": "BIGINT" }] }] });
    let tables = events
        .post(&events.token, &format!("/data/{store}/tables"), &table)
        .await;
    tables.expect_status(201);
    for url in urls(&ports) {
        let mut subscription = events.webhook_body("/hook");
        subscription["target"]["url"] = url.clone().into();
        let refused = events
            .post(&events.token, "/events/subscriptions", &subscription)
            .await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(
            refused.message().contains("'target.url'"),
            "{url}: {}",
            refused.message()
        );
        let mut import = elsewhere("t", "url", &url);
        import["tables"]["t"]["format"] = "csv".into();
        let refused = events
            .post(&events.token, &format!("/data/{store}/import"), &import)
            .await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(
            refused.message().contains("tables.t.uri"),
            "{url}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn no_tool_of_an_agent_reaches_the_runner_locally() {
    let world = Agents::start_local_with(&[("MILLRACE_LOCAL_TARGETS", "true")]).await;
    let origin = world.runs.service.origin().to_owned();
    let host = origin.strip_prefix("http://").unwrap();
    world.load(
        "Own",
        &json!({
            "prompts": [], "tools": ["call_https"], "allowed_hosts": [host],
            "mcp_servers": [{ "name": "own", "url": format!("{origin}/api/v1/prompts") }],
        }),
    );
    let call = json!({ "url": format!("{origin}/openapi.json") });
    world.model.answers(calling(vec![("call_https", call)]));
    let run = world.begin(&json!({ "interaction_ref": "int-Own", "data": {} }));
    world.runs.wait_for_status(&run, "COMPLETED").await;
    let results = world.results(&run).await;
    assert!(
        results[0].to_string().contains("the service's own"),
        "{}",
        results[0]
    );
    let updates = world.runs.updates(&run, "").await;
    let warning = json!(updates).to_string();
    assert!(
        warning.contains("MCP server 'own' are missing") && warning.contains("the service's own"),
        "{warning}"
    );
}

#[tokio::test]
async fn header_of_a_browser_or_proxy_is_refused_when_a_definition_is_saved_locally() {
    let (events, _folder) = started().await;
    for header in HEADERS {
        for value in ["x", "${ .x }"] {
            let mut headers = json!({ "accept": "*/*" });
            headers[header] = value.into();
            let call = json!({ "call": "http", "with": {
                "method": "get", "endpoint": "https://example.com/", "headers": headers,
            } });
            let subscription = process(&json!([{ "a": call }]));
            let refused = events
                .post(&events.token, "/events/subscriptions", &subscription)
                .await;
            let refused = refused.expect_status(400);
            let pointer = format!("/do/0/a/with/headers/{header}");
            assert_eq!(
                refused.body["faults"][0]["pointer"],
                pointer,
                "{}",
                refused.text()
            );
        }
        let mut subscription = events.webhook_body("/hook");
        subscription["target"]["headers"] = json!({ header: "x" });
        let refused = events
            .post(&events.token, "/events/subscriptions", &subscription)
            .await;
        refused.expect_error(400, "invalid_request");
    }
}
