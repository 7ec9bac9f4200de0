//! Attacks on the console: tokens for others than its page, and files that are not its own.

use std::path::PathBuf;

use serde_json::Value;
use tests::{Answer, Method, Service};

/// A page of the console, with the place of its proof.
pub const PAGE: &str = "<!doctype html><meta name=\"page-proof\" content=\"\" /><title>Console</title>";

/// Returns the proof in a page; empty where it has none.
fn proof(page: &Answer) -> String {
    let text = page.text();
    let (_, rest) = text.split_once("name=\"page-proof\" content=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// Starts a service with a console of two files, beside a secret.
async fn service(folder: &tempfile::TempDir) -> Service {
    let files: PathBuf = folder.path().join("console");
    std::fs::create_dir_all(files.join("assets")).unwrap();
    std::fs::write(files.join("index.html"), PAGE).unwrap();
    std::fs::write(files.join("assets/page.js"), "document.title = 'Console';").unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    Service::start_local_with(&[("MILLRACE_CONSOLE_DIR", files.to_str().unwrap())]).await
}

#[tokio::test]
async fn the_page_allows_its_own_scripts_alone_locally() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(&folder).await;
    let url = format!("{}/console", service.origin());
    for url in [url.clone(), format!("{url}/"), format!("{url}?code=1&state=2")] {
        let page = service.request(Method::GET, &url).await.expect_status(200);
        let policy = page.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'; script-src 'self'; style-src 'self';"),
            "{policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        // Nothing keeps the proof in it.
        assert_eq!(page.header("cache-control"), "no-store");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
    }
    for path in ["assets/page.js", "console/assets/page.js"] {
        let script = service.request(Method::GET, &format!("{url}/{path}"));
        let script = script.await.expect_status(200);
        // A worker has the policy of its script: that of charts sends no requests.
        let policy = script.header("content-security-policy");
        assert_eq!(policy, "default-src 'none'; frame-ancestors 'none'");
        assert_eq!(script.header("content-type"), "text/javascript; charset=utf-8");
        assert!(script.header("cache-control").contains("immutable"));
    }
    let first = service
        .request(Method::GET, &format!("{}/", service.origin()))
        .await;
    assert_eq!(first.expect_status(307).header("location"), "/console");
}

#[tokio::test]
async fn no_other_file_is_read_locally() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(&folder).await;
    for path in [
        "index.html",
        "assets",
        "assets/",
        "assets/none.js",
        "assets/../index.html",
        "assets/..%2f..%2fsecret",
        "assets/%2e%2e/%2e%2e/secret",
        "..%2fsecret",
        "%2e%2e/secret",
        "assets/page.js%00",
        "assets//page.js",
        "console/console/assets/page.js",
    ] {
        let request = service.request(Method::GET, &format!("{}/console/{path}", service.origin()));
        let answer = request.await.expect_status(404);
        assert!(
            !answer.text().contains("secret\"") && answer.text() != "secret",
            "{path}"
        );
    }
}

#[tokio::test]
async fn only_the_own_page_gets_a_token_locally() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(&folder).await;
    let origin = service.origin().to_owned();
    let url = format!("{origin}/console/token");
    let port = origin.rsplit_once(':').unwrap().1;
    for other in [
        "null".to_owned(),
        "https://evil.example".to_owned(),
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1.evil.example:{port}"),
        format!("{origin}.evil.example"),
        format!("{origin}/"),
        "http://127.0.0.1".to_owned(),
    ] {
        let answer = service.request(Method::POST, &url).header("origin", &other);
        let refusal = answer.await.expect_status(403);
        assert!(!refusal.text().contains("eyJ"), "{other}");
    }
    service.request(Method::POST, &url).await.expect_status(403);
    service.request(Method::GET, &url).await.expect_status(405);

    let page = service.request(Method::GET, &format!("{origin}/console"));
    let proof = proof(&page.header("sec-fetch-mode", "navigate").await);
    assert!(proof.len() >= 32, "{proof}");
    let ask = |proof_header: &str| {
        let request = service.request(Method::POST, &url).header("origin", &origin);
        request.header("x-page-proof", proof_header)
    };
    let flipped: String = proof.chars().rev().collect();
    for wrong in [
        "",
        "null",
        &proof[1..],
        &format!("{proof}x"),
        &flipped,
        &proof.to_uppercase(),
    ] {
        let refusal = ask(wrong).await.expect_status(403);
        assert!(!refusal.text().contains("eyJ"), "{wrong}");
    }
    let unproven = service.request(Method::POST, &url).header("origin", &origin);
    unproven.await.expect_status(403);
    let elsewhere = service
        .request(Method::POST, &url)
        .header("origin", "https://evil.example");
    elsewhere.header("x-page-proof", &proof).await.expect_status(403);

    let own = ask(&proof).await.expect_status(200);
    assert_eq!(own.header("cache-control"), "no-store");
    let token = match &own.body["token"] {
        Value::String(token) => token.clone(),
        other => panic!("{other}"),
    };
    service.get(&token, "/prompts").await.expect_status(200);
    let log = service.log();
    assert!(!log.contains(&token), "the token is in the log");
    assert!(!log.contains(&proof), "the proof is in the log");
}

/// Scripts of other pages may read any answer, and programs may ask for others.
#[tokio::test]
async fn the_proof_is_in_a_page_that_is_shown_and_nowhere_else_locally() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(&folder).await;
    let url = format!("{}/console", service.origin());
    let get = |url: &str| service.request(Method::GET, url);
    let page_proof = proof(&get(&url).await.expect_status(200));
    assert!(!page_proof.is_empty());
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", service.origin()),
        ("sec-fetch-mode", "cors"),
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-mode", "same-origin"),
        ("sec-fetch-mode", "websocket"),
        ("sec-fetch-mode", ""),
    ] {
        let page = get(&url).header(name, value).await.expect_status(200);
        assert_eq!(proof(&page), "", "{name}: {value}");
        assert!(!page.text().contains(&page_proof), "{name}: {value}");
    }
    for path in ["config.json", "assets/page.js", "index.html", "none"] {
        let answer = get(&format!("{url}/{path}")).await;
        assert!(!answer.text().contains(&page_proof), "{path}");
    }
    // Another start has another proof.
    let other = tempfile::tempdir().unwrap();
    let other = self::service(&other).await;
    let other = other.request(Method::GET, &format!("{}/console", other.origin()));
    assert_ne!(proof(&other.await), page_proof);
}

#[tokio::test]
async fn without_a_built_console_the_first_page_is_the_reference_locally() {
    let service = Service::start_local().await;
    let first = service
        .request(Method::GET, &format!("{}/", service.origin()))
        .await;
    assert_eq!(first.expect_status(307).header("location"), "/docs");
    let token = service.request(Method::POST, &format!("{}/console/token", service.origin()));
    token.header("origin", service.origin()).await.expect_status(404);
}

#[test]
fn a_console_that_cannot_be_read_or_has_no_place_for_the_proof_stops_the_start_locally() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    std::fs::create_dir_all(old.join("assets")).unwrap();
    std::fs::write(old.join("index.html"), "<!doctype html><title>Console</title>").unwrap();
    for name in ["none", "old"] {
        stops_the_start(&folder, name);
    }
}

fn stops_the_start(folder: &tempfile::TempDir, name: &str) {
    let output = std::process::Command::new(tests::binary("millrace"))
        .args(["--port", "0", "--data-dir"])
        .arg(folder.path().join("data"))
        .env("MILLRACE_CONSOLE_DIR", folder.path().join(name))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && stderr.contains("infra/console/build"),
        "{stderr}"
    );
}
