//! Tests that secrets of a project reach the processes and hosts that they are bound to, and nothing else: no
//! other definition, no other host, no result, history, error or log.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tests::Events;
use tests::runs::{PAUSE, WITHIN};
use tokio::net::TcpListener;

const SUBSCRIPTIONS: &str = "/events/subscriptions";
/// With characters that JSON and URLs escape.
const KEY: &str = "hunter2/\"key\" & more";
const PASSWORD: &str = "pass:word+of?ada";

/// Server that returns what it receives, in every form that a server could.
struct Echo {
    /// Such as `127.0.0.1:40000`.
    host: String,
    received: Arc<Mutex<Vec<String>>>,
}

impl Echo {
    async fn start() -> Self {
        let received = Arc::<Mutex<Vec<String>>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(echo).with_state(Arc::clone(&received));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { host, received }
    }

    fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

/// Forms of a secret that must not come back.
fn forms(secret: &str) -> Vec<String> {
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let escaped: String = secret
        .chars()
        .map(|c| format!("\\u{:04x}", u32::from(c)))
        .collect();
    vec![
        secret.to_owned(),
        Value::from(secret).to_string().trim_matches('"').to_owned(),
        escaped,
        percent.to_lowercase(),
        percent,
        url_form(secret),
        STANDARD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        STANDARD.encode(format!("a{secret}")),
        STANDARD.encode(format!("ab{secret}")),
        STANDARD.encode(format!("ada:{secret}")),
        hex::encode(secret),
    ]
}

/// Encodes a text as a form does: a blank becomes a plus.
fn url_form(text: &str) -> String {
    let mut url = reqwest::Url::parse("https://example.com/").unwrap();
    url.query_pairs_mut().append_pair("k", text);
    url.query().unwrap().trim_start_matches("k=").to_owned()
}

async fn echo(State(received): State<Arc<Mutex<Vec<String>>>>, uri: Uri, headers: HeaderMap) -> Response {
    let authorization = headers
        .get("authorization")
        .map(|value| value.to_str().unwrap_or_default().to_owned())
        .unwrap_or_default();
    received.lock().unwrap().push(format!("{uri} {authorization}"));
    let forms: Vec<_> = [KEY, PASSWORD].into_iter().flat_map(forms).collect();
    let text = format!("{uri} {authorization} {}", forms.join(" "));
    let nested = json!({ "text": format!("{uri} {authorization} {KEY} {PASSWORD}") }).to_string();
    let body = json!({ "forms": forms, "nested": nested, authorization.clone(): 1 });
    let status = match uri.path() {
        "/refused" => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    };
    let percent = forms.iter().find(|form| form.starts_with('%')).cloned();
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("x-authorization", authorization),
        ("x-percent", percent.unwrap_or_default()),
    ];
    let text = match uri.path() {
        // The text as it is, without the escapes of JSON.
        "/plain" => text,
        _ => body.to_string(),
    };
    (status, headers, text).into_response()
}

struct World {
    events: Events,
    echo: Echo,
}

impl World {
    async fn start() -> Self {
        Self {
            events: Events::start().await,
            echo: Echo::start().await,
        }
    }

    fn file(&self, name: &str, content: &str) -> String {
        let file = self.events.folder().join(name);
        std::fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn set(&self, name: &str, value: &Value, options: &[&str]) {
        let file = self.file("value.json", &value.to_string());
        let set = [&["secret", "set", name, "--value-file", &file], options].concat();
        self.events.scope.ops(&set).expect_success();
    }

    fn load(&self, definition: &Value) {
        let file = self.file("process.json", &definition.to_string());
        self.events
            .scope
            .ops(&["process", "load", &file])
            .expect_success();
    }

    fn definition(name: &str, secrets: &[&str], with: &Value) -> Value {
        json!({
            "document": { "dsl": "1.0.3", "namespace": "shop", "name": name, "version": "1.0.0" },
            "use": { "secrets": secrets },
            "do": [{ "a": { "call": "http", "with": with } }],
        })
    }

    /// Subscribes a process to all events, and returns the answer.
    async fn subscribe(&self, mut target: Value) -> tests::Answer {
        target["type"] = json!("process");
        let body = json!({
            "name": "Process", "run_as_role": "executor", "filter": { "event_category": ["external"] },
            "target": target,
        });
        self.events.post(&self.events.token, SUBSCRIPTIONS, &body).await
    }

    /// Ends the subscription after one event. Returns the run, with its history.
    async fn run_of(&self, subscription: &Value, payload: &Value) -> Value {
        let events = &self.events;
        let channel = events.plain_channel().await;
        let event = events.event(&channel, payload).await;
        let delivery = events.delivery_of(&event, &["succeeded", "failed"]).await;
        let path = format!("{SUBSCRIPTIONS}/{}", subscription["id"].as_str().unwrap());
        events.delete(&events.token, &path).await.expect_status(200);
        let run = format!(
            "/workflows/runs/{}/{}?include_history=true",
            delivery["workflow_id"].as_str().unwrap(),
            delivery["workflow_run_id"].as_str().unwrap()
        );
        let began = std::time::Instant::now();
        loop {
            let detail = events.get(&events.token, &run).await.expect_status(200).body;
            if detail["status"] != "RUNNING" {
                return json!({ "run": detail, "delivery": delivery });
            }
            assert!(began.elapsed() < WITHIN, "{detail}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn run(&self, target: Value, payload: &Value) -> Value {
        let subscription = self.subscribe(target).await.expect_status(201).body;
        self.run_of(&subscription, payload).await
    }
}

#[tokio::test]
async fn secret_goes_to_no_other_definition_and_no_other_host() {
    let world = World::start().await;
    let thief = Echo::start().await;
    let (host, other) = (world.echo.host.as_str(), thief.host.as_str());
    let other_name = other.replace("127.0.0.1", "localhost");
    world.set(
        "key",
        &json!("hunter2-of-order"),
        &["--for", "shop/order", "--host", host],
    );
    let to = |uri: &str| json!({ "method": "get", "endpoint": { "uri": uri, "authentication": { "bearer": { "use": "key" } } } });
    let own = format!("http://{host}/own");
    let stolen = format!("http://{other}/stolen");

    // A definition of a caller, also under the name of the process that the secret is for.
    for name in ["order", "mine"] {
        let definition = World::definition(name, &["key"], &to(&stolen));
        let refused = world
            .subscribe(json!({ "definition": definition }))
            .await
            .expect_error(400, "invalid_request");
        assert!(refused.message().contains("'key'"), "{}", refused.message());
    }
    // The process that it is for, wherever the data of an event leads it.
    world.load(&World::definition(
        "order",
        &["key"],
        &to("${ .event.details.payload.uri }"),
    ));
    let by_name = || json!({ "process_ref": "shop/order" });
    let run = world.run(by_name(), &json!({ "uri": own })).await;
    assert_eq!(run["run"]["status"], "COMPLETED", "{run}");
    assert_eq!(world.echo.received(), ["/own Bearer hunter2-of-order"]);
    let elsewhere = [
        stolen.clone(),
        format!("http://{other_name}/"),
        format!("http://{host}@{other}/"),
        format!("http://{other}/?{host}"),
        format!("http://{other}/#{host}"),
        format!("http://{other}\\@{host}/"),
    ];
    for uri in &elsewhere {
        let run = world.run(by_name(), &json!({ "uri": uri })).await;
        assert_eq!(run["run"]["status"], "FAILED", "{uri}: {run}");
    }
    // A stored process that it is not for.
    world.load(&World::definition("thief", &["key"], &to(&stolen)));
    let run = world
        .run(json!({ "process_ref": "shop/thief" }), &json!({}))
        .await;
    let detail = run["run"]["error"]["details"]["detail"]
        .as_str()
        .unwrap_or_default();
    assert!(detail.contains("not for the process 'shop/thief'"), "{run}");
    assert_eq!(thief.received(), Vec::<String>::new());

    // Definitions of callers, where the operator allows it and for as long as it does.
    let ops = &world.events.scope;
    ops.ops(&["project", "inline-secrets", "allow"]).expect_success();
    let inline = |name: &str, uri: &str| json!({ "definition": World::definition(name, &["key"], &to(uri)) });
    let run = world.run(inline("order", &own), &json!({})).await;
    assert_eq!(run["run"]["status"], "COMPLETED", "{run}");
    for (name, uri) in [("mine", &own), ("order", &stolen)] {
        let run = world.run(inline(name, uri), &json!({})).await;
        assert_eq!(run["run"]["status"], "FAILED", "{name} {uri}: {run}");
    }
    let subscription = world
        .subscribe(inline("order", &own))
        .await
        .expect_status(201)
        .body;
    ops.ops(&["project", "inline-secrets", "refuse"]).expect_success();
    let run = world.run_of(&subscription, &json!({})).await;
    assert_eq!(run["run"]["status"], "FAILED", "{run}");
    assert_eq!(world.echo.received().len(), 2);
    assert_eq!(thief.received(), Vec::<String>::new());
}

#[tokio::test]
async fn secret_that_a_server_returns_in_any_form_is_struck() {
    let world = World::start().await;
    let host = world.echo.host.clone();
    let binding = ["--for", "shop/echo", "--host", &host];
    world.set("key", &json!(KEY), &binding);
    world.set(
        "pair",
        &json!({ "username": "ada", "password": PASSWORD }),
        &binding,
    );
    let url = |path: &str| format!("http://{host}{path}");
    let basic = json!({ "basic": { "use": "pair" } });
    let calls = [
        json!({ "endpoint": { "uri": url("/json"), "authentication": basic }, "query": { "k": "${ $secrets.key }" }, "output": "response" }),
        json!({ "endpoint": { "uri": url("/plain"), "authentication": basic }, "query": { "k": "${ $secrets.key }" } }),
        json!({ "endpoint": { "uri": url("/json"), "authentication": basic }, "query": { "k": "${ $secrets.key }" }, "output": "raw" }),
        json!({ "endpoint": { "uri": url("/refused"), "authentication": basic }, "query": { "k": "${ $secrets.key }" } }),
        json!({ "endpoint": { "uri": url("/"), "authentication": basic }, "headers": "${ { ($secrets.key): 1 } }" }),
        json!({ "endpoint": { "uri": url("/"), "authentication": basic }, "query": "${ { ($secrets.key): [[]] } }" }),
        json!({ "endpoint": "${ $secrets.key }" }),
        json!({ "endpoint": { "uri": format!("${{ \"{}\" + $secrets.key }}", url("/")), "authentication": basic } }),
    ];
    let mut records = Vec::new();
    for (number, mut with) in calls.into_iter().enumerate() {
        with["method"] = json!("get");
        let mut definition = World::definition("echo", &["key", "pair"], &with);
        definition["document"]["version"] = json!(format!("1.0.{number}"));
        definition["do"][0]["a"]["export"] = json!({ "as": "${ { seen: . } }" });
        definition["output"] = json!({ "as": "${ { all: ., seen: $context } }" });
        world.load(&definition);
        let run = world.run(json!({ "process_ref": "shop/echo" }), &json!({})).await;
        records.push(run);
    }
    assert_eq!(records[0]["run"]["status"], "COMPLETED", "{}", records[0]);
    let result = &records[0]["run"]["result"]["all"];
    assert_eq!(result["headers"]["x-authorization"], "Basic [secret]", "{result}");
    assert!(result["content"]["forms"].is_array(), "{result}");
    let raw = records[2]["run"]["result"]["all"].as_str().unwrap();
    let raw = String::from_utf8(STANDARD.decode(raw).unwrap()).unwrap();
    assert_eq!(records[3]["run"]["status"], "FAILED", "{}", records[3]);
    assert!(world.echo.received().len() >= 5, "{:?}", world.echo.received());
    let trail = world.events.get(&world.events.token, "/audit-trail").await.text();
    let all = [json!(records).to_string(), raw, world.events.log(), trail];
    for text in &all {
        let unescaped = text.replace("\\\\", "\\").replace("\\\"", "\"");
        for form in [KEY, PASSWORD].into_iter().flat_map(forms) {
            let escaped = Value::from(form.as_str()).to_string();
            let escaped = escaped.trim_matches('"');
            for form in [form.as_str(), escaped] {
                assert!(
                    !text.contains(form) && !unescaped.contains(form),
                    "{form} in {text}"
                );
            }
        }
        // The part of the key that stays the same in most forms.
        assert!(!text.contains("hunter2"), "{text}");
    }
}
