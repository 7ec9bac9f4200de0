//! Tests the internal port of the local runner, that of its queues: another user of the machine and a web
//! page can reach it, but learn and change nothing.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::{Method, Persona, Service, browser};

/// Headers that a page in Chromium adds, for a plain request and for the preflight of one with custom
/// headers.
const OF_A_PAGE: [(&str, &str); 5] = [
    ("origin", "https://evil.example"),
    ("referer", "https://evil.example/"),
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "cors"),
    ("sec-fetch-dest", "empty"),
];

struct Ports {
    service: Service,
    secret: String,
    queues: String,
}

impl Ports {
    async fn start() -> Self {
        let service = Service::start_local().await;
        let text = std::fs::read(service.data_dir().join("queues.json")).unwrap();
        let queues: Value = serde_json::from_slice(&text).unwrap();
        Self {
            secret: std::fs::read_to_string(service.data_dir().join("keys/services")).unwrap(),
            queues: queues["endpoint"].as_str().unwrap().to_owned(),
            service,
        }
    }

    /// Returns a message about a run, as an attacker sends it.
    fn message(&self) -> tests::Request {
        let request = self
            .service
            .request(Method::POST, &format!("{}/queues/tasks", self.queues));
        request.json(&json!({ "body": "{}", "delay_ms": 0 }))
    }

    fn authorization(&self) -> String {
        format!("Bearer {}", self.secret)
    }
}

#[tokio::test]
async fn internal_port_without_the_secret_is_refused_locally() {
    let ports = Ports::start().await;
    let flipped: String = ports.secret.chars().rev().collect();
    let (prefix, extended) = (&ports.secret[1..], format!("{}x", ports.secret));
    for wrong in ["", "local", "Bearer", prefix, &extended, &flipped] {
        let answer = ports
            .message()
            .header("authorization", &format!("Bearer {wrong}"))
            .await;
        assert_eq!(answer.status, 403, "{wrong}: {}", answer.text());
    }
    assert_eq!(ports.message().await.status, 403);
    let answer = ports
        .message()
        .header("authorization", &ports.authorization())
        .await;
    assert_eq!(answer.status, 204, "{}", answer.text());
}

#[tokio::test]
async fn stop_of_the_runner_without_the_secret_is_refused_locally() {
    let ports = Ports::start().await;
    let url = format!("{}/stop", ports.queues);
    let stop = || ports.service.request(Method::POST, &url);
    assert_eq!(stop().await.status, 403);
    for wrong in ["", "Bearer", "Bearer wrong", &ports.secret] {
        assert_eq!(stop().header("authorization", wrong).await.status, 403, "{wrong}");
    }
    let of_a_page = stop().header("authorization", &ports.authorization());
    let of_a_page = of_a_page.header("origin", "https://evil.example");
    assert_eq!(of_a_page.await.status, 403);
    let token = ports.service.scope().token(Persona::Developer);
    ports.service.get(&token, "/prompts").await.expect_status(200);
}

#[tokio::test]
async fn internal_port_refuses_pages_that_know_the_secret_locally() {
    let ports = Ports::start().await;
    let of_a_page = |request: tests::Request| {
        OF_A_PAGE
            .iter()
            .fold(request, |request, (name, value)| request.header(name, value))
    };
    let url = format!("{}/", ports.queues);
    let preflight = ports.service.request(Method::OPTIONS, &url);
    let preflight = preflight
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization");
    let answer = of_a_page(preflight).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("access-control-allow-origin"), "");
    let rebound = ports
        .service
        .request(Method::GET, &url)
        .header("host", "evil.example");
    assert_eq!(rebound.await.status, 403);
    let answer = of_a_page(ports.message().header("authorization", &ports.authorization())).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn data_directory_is_closed_to_other_users_locally() {
    let ports = Ports::start().await;
    let data = ports.service.data_dir();
    for name in ["records.sqlite", "records.sqlite-wal", "keys/services"] {
        assert_eq!(mode(&data.join(name)) & 0o077, 0, "{name}");
    }
    for name in ["keys", "objects", "cache"] {
        assert_eq!(mode(&data.join(name)) & 0o077, 0, "{name}");
    }
}

/// Only root can start a program as another user.
#[tokio::test]
async fn another_user_of_the_machine_reads_and_plants_nothing_as_root_locally() {
    let ports = Ports::start().await;
    let token = ports.service.scope().token(Persona::Developer);
    let data = ports.service.data_dir();
    let script = format!(
        "import urllib.request, urllib.error\n\
         def ask(url, headers, body):\n\
         \x20   request = urllib.request.Request(url, body.encode(), headers)\n\
         \x20   try: return urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request).status\n\
         \x20   except urllib.error.HTTPError as error: return error.code\n\
         headers = {{'content-type': 'application/json', 'authorization': 'Bearer guessed'}}\n\
         print(ask('{queues}/queues/tasks', headers, '{{\"body\":\"x\",\"delay_ms\":0}}'))\n\
         for path in ['keys/services', 'records.sqlite', 'records.sqlite-wal', 'queues.json']:\n\
         \x20   try: open('{data}/' + path, 'rb').read(1); print('read')\n\
         \x20   except PermissionError: print('kept')\n",
        queues = ports.queues,
        data = data.display(),
    );
    let nobody = Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
            "/usr/bin/env",
            "python3",
            "-c",
            &script,
        ])
        .current_dir("/")
        .env("PATH", "/usr/bin:/bin:/usr/local/bin")
        .output();
    let output = nobody.unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        stdout.split_whitespace().collect::<Vec<_>>(),
        ["403", "kept", "kept", "kept", "kept"],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    ports.service.get(&token, "/prompts").await.expect_status(200);
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode()
}

#[tokio::test]
async fn page_reaches_no_internal_port_in_chromium_locally() {
    let ports = Ports::start().await;
    let page = ports.service.folder().join("page.html");
    let script = format!(
        "<body><script>(async () => {{ const told = [];\n\
         for (const mode of ['cors', 'no-cors']) {{\n\
           try {{ const a = await fetch('{}/queues/tasks', {{method: 'POST', mode, body: '{{}}', \
              headers: mode == 'cors' ? {{'authorization': 'Bearer guessed'}} : {{}}}});\n\
             told.push(a.type == 'opaque' ? 'opaque' : 'read ' + a.status); }} catch (e) {{ told.push('refused'); }} }}\n\
         document.body.textContent = 'told: ' + told.join(', '); }})();</script></body>",
        ports.queues
    );
    std::fs::write(&page, script).unwrap();
    let url = format!("file://{}", page.display());
    let output = browser::load(ports.service.folder(), &url);
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(page.contains("told: refused, opaque"), "{page}");
}
