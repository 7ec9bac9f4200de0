//! Tests the start of a service for users: what it refuses, what it answers, and what its log says.

use serde_json::Value;
use tests::samples::prompt;
use tests::{Method, Server, run, server};

/// Starts a service that must refuse with one line.
#[track_caller]
fn refusal(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let all: Vec<_> = ["serve"].iter().chain(arguments).copied().collect();
    let refused = run("millrace", &all, variables).expect_refusal();
    assert_eq!(refused.stderr.trim().lines().count(), 1, "{refused:?}");
    assert_eq!(refused.stdout, "", "{refused:?}");
    refused.stderr
}

#[test]
fn service_for_users_needs_a_url_and_an_identity_provider() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = ["--data-dir", data.to_str().unwrap()];
    assert!(refusal(&data, &[]).contains("MILLRACE_PUBLIC_URL"));
    let url = ("MILLRACE_PUBLIC_URL", "https://millrace.example.com");
    let refused = refusal(&data, &[url]);
    assert!(
        refused.contains("MILLRACE_IDENTITY") && refused.contains("--dev"),
        "{refused}"
    );
    assert!(
        !folder.path().join("data").exists(),
        "a refused start makes a folder"
    );
}

#[test]
fn value_that_does_not_fit_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [
        ("MILLRACE_LISTEN", "3000"),
        ("MILLRACE_LISTEN", "192.0.2.1:3000"),
        ("MILLRACE_PUBLIC_URL", "millrace.example.com"),
        ("MILLRACE_TRUSTED_PROXIES", "proxy"),
        ("MILLRACE_METRICS_LISTEN", "9464"),
        ("MILLRACE_METRICS_LISTEN", "192.0.2.1:9464"),
        ("MILLRACE_TLS_CERTIFICATE", "certificate.pem"),
        ("MILLRACE_ACME_DOMAINS", "127.0.0.1"),
        ("MILLRACE_ACME_DIRECTORY", "https://ca.example/directory"),
    ] {
        let text = server::refusal(folder.path(), &[], &[(name, value)]);
        assert!(text.contains(name), "{name}={value}: {text}");
    }
}

#[tokio::test]
async fn service_takes_tokens_of_the_provider_and_issues_none_locally() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[], &[]);
    let token = server.token();
    let client = server.client();
    client
        .post(&token, "/prompts", &prompt("First"))
        .await
        .expect_status(201);
    let page = client.request(
        Method::POST,
        &format!("http://{}/console/token", server.address()),
    );
    page.header("origin", &format!("http://{}", server.address()))
        .await
        .expect_status(404);
    // Its own keys sign nothing that counts.
    let own = tests::Operator::new(&folder.path().join("data"));
    let own = own.run(&["token"]).expect_success().line().to_owned();
    client.get(&own, "/prompts").await.expect_status(401);
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));
    let log = server.log();
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        assert!(
            entry["timestamp"].is_string() && entry["level"].is_string(),
            "{line}"
        );
    }
    assert!(!log.contains(&token) && !log.contains("eyJ"), "{log}");
}

#[tokio::test]
async fn webhooks_reach_public_services_alone_locally() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[], &[]);
    let token = server.token();
    for url in [
        format!("http://{}/hook", server.address()),
        "http://127.0.0.1:1/hook".to_owned(),
        "https://millrace.example.com/hook".to_owned(),
    ] {
        let subscription = serde_json::json!({
            "name": "own", "run_as_role": "reader", "filter": { "action": ["a"] }, "target": { "type": "webhook", "url": url },
        });
        let answer = server
            .client()
            .post(&token, "/events/subscriptions", &subscription)
            .await;
        assert_eq!(answer.status, 400, "{url}: {}", answer.text());
    }
}

#[tokio::test]
async fn health_answers_under_every_name_and_says_nothing_else_locally() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--metrics-listen", "127.0.0.1:0"], &[]);
    let client = server.client();
    for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let url = format!("http://{}{path}", server.address());
        let request = client.request(Method::GET, &url).header("host", "10.0.0.7:3000");
        let answer = request.await.expect_status(200);
        assert_eq!(answer.text(), body);
        client.request(Method::HEAD, &url).await.expect_status(200);
        client.request(Method::POST, &url).await.expect_status(405);
    }
    // Every other path answers under the service's own names.
    let url = format!("http://{}/api/v1/prompts", server.address());
    let request = |host: &str| client.request(Method::GET, &url).header("host", host);
    request("10.0.0.7:3000").await.expect_status(403);
    request("millrace.example.com").await.expect_status(401);
}

#[tokio::test]
async fn log_has_the_caller_behind_trusted_proxies_locally() {
    let folder = tempfile::tempdir().unwrap();
    for (proxies, client) in [("", "127.0.0.1"), ("127.0.0.1", "198.51.100.7")] {
        let mut server = Server::start(folder.path(), &["--trusted-proxies", proxies], &[]);
        let url = format!("http://{}/api/v1/prompts", server.address());
        let request = server.client().request(Method::GET, &url);
        request
            .header("x-forwarded-for", "6.6.6.6, 198.51.100.7")
            .await
            .expect_status(401);
        let entry = server.wait_for("request refused");
        assert_eq!(entry["span"]["client"], client, "{entry}");
        server.signal("TERM");
        server.ended();
    }
}
