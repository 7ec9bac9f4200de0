//! Tests the pages that browsers show, and where tokens are printed.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use tests::{Method, Persona, Service, binary, browser, unique};

#[tokio::test]
async fn every_answer_has_the_headers_that_restrict_browsers_locally() {
    let service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let origin = service.origin();
    for (path, status) in [
        ("/docs", 200),
        ("/openapi.json", 200),
        ("/api/v1/prompts", 200),
        ("/api/v1/prompts/none", 404),
        ("/nowhere", 404),
        ("/ingest/webhooks/events/a/b/c", 405),
    ] {
        let request = service.request(Method::GET, &format!("{origin}{path}"));
        let answer = request.token(&token).await.expect_status(status);
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn the_reference_page_runs_what_it_brings_and_nothing_else_locally() {
    let service = Service::start_local().await;
    let page = service
        .request(Method::GET, &format!("{}/docs", service.origin()))
        .await;
    let html = page.text();
    let policy = page.header("content-security-policy");
    for (element, directive) in [("script", "script-src"), ("style", "style-src")] {
        let allowed = policy
            .split(';')
            .find_map(|part| part.trim().strip_prefix(directive))
            .unwrap();
        let mut rest = html.as_str();
        let mut count = 0;
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        while let Some((_, after)) = rest.split_once(&open) {
            let (content, after) = after.split_once(&close).unwrap();
            let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)));
            assert!(allowed.contains(&hash), "{element} {count} is not in {allowed}");
            (rest, count) = (after, count + 1);
        }
        assert!(count > 0, "{element}");
        assert_eq!(allowed.split_whitespace().count(), count, "{allowed}");
    }
    for other in ["<script ", "<link ", "http://", "onload="] {
        let head = html.split_once("<style>").unwrap().0;
        assert!(!head.contains(other), "{other}");
    }
}

#[tokio::test]
async fn reference_page_breaks_no_policy_of_its_own_in_chromium_locally() {
    let service = Service::start_local().await;
    let url = format!("{}/docs", service.origin());
    let output = browser::load(service.folder(), &url);
    let (page, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(page.contains("Create a prompt template"), "{log}");
    assert!(!log.contains("Content Security Policy"), "{log}");
}

/// A token is not printed into a log that others can read, but into one that only the owner can read.
#[tokio::test]
async fn no_token_is_printed_where_others_read_locally() {
    let service = Service::start_local().await;
    for (mode, has_token) in [(0o644, false), (0o640, false), (0o600, true)] {
        let log = service.folder().join(unique("log"));
        std::fs::write(&log, "").unwrap();
        std::fs::set_permissions(&log, std::fs::Permissions::from_mode(mode)).unwrap();
        let file = std::fs::File::options().append(true).open(&log).unwrap();
        let mut child = Command::new(binary("millrace"))
            .args(["--port", "0", "--data-dir"])
            .arg(service.folder().join(unique("data")))
            .stdout(file)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let printed = loop {
            let printed = std::fs::read_to_string(&log).unwrap();
            if printed.contains("audit-trail") {
                break printed;
            }
            assert!(child.try_wait().unwrap().is_none(), "the runner ended");
            tokio::task::yield_now().await;
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(printed.contains("TOKEN=ey"), has_token, "{mode:o}: {printed}");
        assert!(printed.contains("millrace ops env)\""), "{printed}");
    }
}
