//! Tests connections that stay open without credentials: they take little memory, and only for a short time.

use std::time::Duration;

use serde_json::json;
use tests::{Persona, Service, samples};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const SOCKETS: usize = 60;
const BODY_BYTES: usize = 10 * 1_024 * 1_024;
/// Maximum memory that all of them together may add to the service, in KB. One body alone is a fifth of it.
const MAX_ADDED_KB: u64 = 50 * 1_024;

/// Returns the head of a request with a large body.
fn head(service: &Service, path: &str, more: &str) -> String {
    let host = service.origin().trim_start_matches("http://");
    format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {BODY_BYTES}\r\n{more}\r\n"
    )
}

async fn connect(service: &Service) -> TcpStream {
    let address = service.origin().trim_start_matches("http://");
    TcpStream::connect(address).await.unwrap()
}

/// Sends all of the body except its last byte, so that no answer can be complete.
async fn send_nearly_all(mut socket: TcpStream, head: String) -> TcpStream {
    let piece = vec![b' '; 64 * 1_024];
    let result = tokio::time::timeout(Duration::from_secs(20), async {
        socket.write_all(head.as_bytes()).await?;
        let mut remaining = BODY_BYTES - 1;
        while remaining > 0 {
            let size = remaining.min(piece.len());
            socket.write_all(&piece[..size]).await?;
            remaining -= size;
        }
        socket.flush().await
    });
    // A service that closed the connection has no memory for it either.
    let _ = result.await;
    socket
}

#[tokio::test]
async fn bodies_without_credentials_are_not_kept_locally() {
    let mut service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let prompt = samples::prompt("Beside");
    service.post(&token, "/prompts", &prompt).await.expect_status(201);
    let before = service.process().memory_kb();
    let ways = [
        ("/api/v1/prompts", ""),
        ("/api/v1/data", "authorization: Bearer nonsense\r\n"),
        ("/api/v1/nowhere", ""),
        ("/ingest/webhooks/events/a/b/c", ""),
    ];
    let mut sockets = Vec::new();
    for number in 0..SOCKETS {
        let (path, more) = ways[number % ways.len()];
        let head = head(&service, path, more);
        sockets.push(tokio::spawn(send_nearly_all(connect(&service).await, head)));
    }
    let mut open = Vec::new();
    for socket in sockets {
        open.push(socket.await.unwrap());
    }
    let added = service.process().memory_kb().saturating_sub(before);
    assert!(added < MAX_ADDED_KB, "{SOCKETS} sockets took {added} KB");
    service.post(&token, "/prompts", &prompt).await.expect_status(201);
    drop(open);
}

/// The refusal reaches a caller that sends everything before it reads.
#[tokio::test]
async fn a_refusal_reaches_a_caller_who_still_sends_locally() {
    let service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    for (path, more, status) in [
        ("/api/v1/prompts", String::new(), "401"),
        (
            "/api/v1/prompts",
            format!("authorization: Bearer {token}\r\n"),
            "413",
        ),
        ("/api/v1/nowhere", String::new(), "404"),
        ("/ingest/webhooks/events/a/b/c", String::new(), "413"),
    ] {
        let mut socket = send_nearly_all(connect(&service).await, head(&service, path, &more)).await;
        socket.write_all(b" ").await.unwrap();
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).await.unwrap();
        assert_eq!(
            String::from_utf8_lossy(&answer),
            format!("HTTP/1.1 {status}"),
            "{path}"
        );
    }
}

/// Many slow heads do not block other callers. The runner's own tests check with a moved clock that slow
/// heads are closed in time.
#[tokio::test]
async fn slow_sockets_keep_no_caller_out_locally() {
    let service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let mut slow = Vec::new();
    for number in 0..200 {
        let mut socket = connect(&service).await;
        let begun = &b"POST /api/v1/prompts HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: "[..number % 40 + 1];
        socket.write_all(begun).await.unwrap();
        slow.push(socket);
    }
    for _ in 0..20 {
        service.get(&token, "/prompts").await.expect_status(200);
    }
}

/// The unread answers of one account are limited to its share of concurrent requests.
#[tokio::test]
async fn unread_answers_of_an_account_are_bounded_locally() {
    let mut service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let store = service
        .post(&token, "/data", &json!({ "name": "Store" }))
        .await
        .id();
    let query =
        json!({ "sql": "SELECT repeat('x', 1000) AS a FROM range(5000)", "limit": 10_000 }).to_string();
    let host = service.origin().trim_start_matches("http://").to_owned();
    let request = format!(
        "POST /api/v1/data/{store}/query HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{query}",
        query.len()
    );
    let mut unread = Vec::new();
    for _ in 0..100 {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut socket = socket.connect(host.parse().unwrap()).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        unread.push(socket);
    }
    // The first answers of this account are ready but unread; another account still gets answers.
    let other = service.scope().token(Persona::Developer);
    for socket in unread.iter().take(4) {
        socket.readable().await.unwrap();
    }
    for _ in 0..20 {
        service.get(&other, "/prompts").await.expect_status(200);
    }
    let memory = service.process().memory_kb();
    assert!(memory < 500 * 1_024, "{memory} KB");
}
