//! Tests that the public server closes slow connections at their time limit.
#![cfg(test)]

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use local::gateway::read_to_end;
use local::server::{Limits, serve};
use platform::http::service::normalized;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const LIMITS: Limits = Limits {
    head: Duration::from_secs(30),
    head_bytes: 64 * 1_024,
    stall: Duration::from_secs(30),
    connections: 300,
};
const BODY: Duration = Duration::from_secs(29);

/// Starts a server that echoes bodies. Returns its address.
async fn start() -> String {
    let echo = |request: Request| async {
        match to_bytes(request.into_body(), 1_000_000).await {
            Ok(bytes) => Body::from(bytes),
            Err(error) => Body::from(format!("no body: {error}")),
        }
    };
    let routes = Router::new()
        .route("/", post(echo))
        .route("/refuse", post(|| async { StatusCode::UNAUTHORIZED }))
        .layer(from_fn_with_state(BODY, read_to_end));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(serve(
        listener,
        normalized(routes),
        LIMITS,
        std::future::pending(),
    ));
    address
}

async fn begun(address: &str, text: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(text.as_bytes()).await.unwrap();
    socket
}

/// True if the server neither closed the connection nor answered on it yet.
async fn is_open(socket: &mut TcpStream) -> bool {
    let mut byte = [0];
    tokio::time::timeout(Duration::from_millis(1), socket.read(&mut byte))
        .await
        .is_err()
}

#[tokio::test(start_paused = true)]
async fn two_hundred_slow_sockets_are_dropped() {
    let address = start().await;
    let mut slow = Vec::new();
    for number in 0..200 {
        let text = [
            "",
            "P",
            "POST / HTTP/1.1\r\n",
            "POST / HTTP/1.1\r\nhost: a\r\nx: ",
        ][number % 4];
        slow.push(begun(&address, text).await);
    }
    tokio::time::sleep(LIMITS.head / 2).await;
    for socket in &mut slow {
        assert!(is_open(socket).await);
    }
    tokio::time::sleep(LIMITS.head).await;
    for socket in &mut slow {
        assert!(!is_open(socket).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_ends_with_the_time_of_a_body() {
    let address = start().await;
    let mut socket = begun(
        &address,
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc",
    )
    .await;
    tokio::time::sleep(BODY / 2).await;
    socket.write_all(b"d").await.unwrap();
    tokio::time::sleep(BODY).await;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.contains("no body") && answer.contains("timed out"),
        "{answer}"
    );
}

/// A refusal waits neither for the rest of a body, nor for a body announced with `Expect: 100-continue`.
#[tokio::test(start_paused = true)]
async fn a_refusal_does_not_wait_for_the_body() {
    let address = start().await;
    for expects in ["", "expect: 100-continue\r\n"] {
        let head = format!("POST /refuse HTTP/1.1\r\nhost: a\r\n{expects}content-length: 10\r\n\r\n");
        let mut socket = begun(&address, &head).await;
        let mut answer = [0; 12];
        tokio::time::timeout(BODY / 2, socket.read_exact(&mut answer))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&answer, b"HTTP/1.1 401", "{expects}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_connection_too_many_waits_for_another_to_end() {
    let address = start().await;
    let mut idle = Vec::new();
    for _ in 0..LIMITS.connections {
        idle.push(begun(&address, "").await);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let request = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
    let mut last = begun(&address, request).await;
    assert!(is_open(&mut last).await);
    drop(idle.pop());
    let mut answer = String::new();
    last.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("hi"), "{answer}");
}
