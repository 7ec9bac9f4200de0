//! Tests `/metrics`: Prometheus's own parser reads it, and it counts what happened.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Method, Server, peers_python};

/// Prints the samples that Prometheus's library reads from standard input, as JSON.
const PARSE: &str = "import sys, json; from prometheus_client.parser import text_string_to_metric_families as parse
print(json.dumps([{'name': s.name, 'labels': s.labels, 'value': s.value, 'type': f.type, 'help': f.documentation}
    for f in parse(sys.stdin.read()) for s in f.samples]))";

fn parsed(text: &str) -> Vec<Value> {
    let mut python = Command::new(peers_python("python"));
    let mut child = python
        .args(["-c", PARSE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the sum of a metric's samples with these labels.
fn sum(samples: &[Value], name: &str, labels: &Value) -> f64 {
    let labels = labels.as_object().unwrap();
    let fits = |sample: &&Value| {
        sample["name"] == name
            && labels
                .iter()
                .all(|(label, value)| sample["labels"][label] == *value)
    };
    let values = samples
        .iter()
        .filter(fits)
        .map(|sample| sample["value"].as_f64().unwrap());
    values.sum()
}

#[tokio::test]
async fn metrics_count_what_happened_on_an_address_of_their_own_locally() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &["--metrics-listen", "127.0.0.1:0"], &[]);
    let address = server.ready()["metrics"].as_str().unwrap().to_owned();
    let (client, token) = (server.client(), server.token());
    for _ in 0..3 {
        client.post(&token, "/prompts", &prompt("Counted")).await;
    }
    client.get("no-token", "/prompts").await.expect_status(401);
    let url = format!("http://{}/not/a/path-of-ours", server.address());
    client.request(Method::GET, &url).await.expect_status(404);
    let channel = json!({ "name": "Counted", "source": "counted" });
    let channel = client
        .post(&token, "/events/channels", &channel)
        .await
        .expect_status(201)
        .body;
    let hook = format!(
        "http://{}/ingest/webhooks/events/acme/demo/{}",
        server.address(),
        channel["id"].as_str().unwrap()
    );
    let bearer = format!("Bearer {}", channel["ingest_token"].as_str().unwrap());
    let event = || {
        client
            .request(Method::POST, &hook)
            .json(&json!({ "action": "counted" }))
    };
    event().header("authorization", &bearer).await.expect_status(202);
    event()
        .header("authorization", "Bearer wrong")
        .await
        .expect_status(401);

    let metrics = client.request(Method::GET, &format!("http://{address}/metrics"));
    let answer = metrics.await.expect_status(200);
    assert!(
        answer
            .header("content-type")
            .starts_with("text/plain; version=0.0.4")
    );
    let text = answer.text();
    let samples = parsed(&text);
    let count = |name: &str, labels: Value| sum(&samples, name, &labels);
    let created = json!({ "method": "POST", "route": "/api/v1/prompts", "status": "201" });
    assert_eq!(count("millrace_http_requests_total", created), 3.0, "{text}");
    let refused = json!({ "route": "/api/v1/prompts", "status": "401" });
    assert_eq!(count("millrace_http_requests_total", refused), 1.0, "{text}");
    assert_eq!(
        count("millrace_http_requests_total", json!({ "route": "none" })),
        1.0,
        "{text}"
    );
    assert_eq!(
        count(
            "millrace_events_accepted_total",
            json!({ "category": "external" })
        ),
        1.0,
        "{text}"
    );
    assert_eq!(count("millrace_ingest_refused_total", json!({})), 1.0, "{text}");
    assert!(count("process_resident_memory_bytes", json!({})) > 1e6, "{text}");
    assert_eq!(count("millrace_build_info", json!({})), 1.0, "{text}");
    for sample in &samples {
        assert!(!sample["help"].as_str().unwrap().is_empty(), "{sample}");
        assert_ne!(sample["type"], "unknown", "{sample}");
    }
    // They are not on the public port, and have no secret.
    assert!(!text.contains(&token) && !text.contains("path-of-ours"), "{text}");
    let public = format!("http://{}/metrics", server.address());
    client.request(Method::GET, &public).await.expect_status(404);
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
}
