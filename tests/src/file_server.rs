//! Serves files to imports.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Answers by path. Answers below `/held/` wait for [`release`](Self::release); answers below `/endless/`
/// repeat their last 64 KiB until the client stops reading.
#[derive(Clone)]
pub struct FileServer {
    /// Such as `http://127.0.0.1:40000`.
    pub origin: String,
    answers: Arc<BTreeMap<String, Vec<u8>>>,
    requests: Arc<Mutex<Vec<String>>>,
    gate: Arc<Semaphore>,
}

/// Bytes at the end of an answer below `/endless/` that are repeated.
const ENDLESS_BYTES: usize = 65_536;

impl FileServer {
    /// Starts a server with these answers, each a path and the bytes of a whole HTTP answer; any other path
    /// is a 404.
    pub async fn start(answers: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let server = Self {
            origin: format!("http://127.0.0.1:{port}"),
            answers: Arc::new(answers.into_iter().collect()),
            requests: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
        };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let server = serving.clone();
                tokio::spawn(async move { server.answer(socket).await });
            }
        });
        server
    }

    /// Returns the paths requested so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }

    /// Sends all held answers, also later ones.
    pub fn release(&self) {
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    async fn answer(self, mut socket: TcpStream) {
        let mut head = Vec::new();
        let mut buffer = [0; 4_096];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match socket.read(&mut buffer).await {
                Ok(count) if count > 0 => head.extend_from_slice(&buffer[..count]),
                _ => return,
            }
        }
        let head = String::from_utf8_lossy(&head);
        let target = head.split(' ').nth(1).unwrap_or_default();
        let path = decoded(target.split('?').next().unwrap_or_default());
        self.requests.lock().expect("not poisoned").push(path.clone());
        if path.starts_with("/held/") {
            let _ = self.gate.acquire().await;
        }
        let missing = status("404 Not Found");
        let answer = self.answers.get(&path).unwrap_or(&missing);
        let _ = socket.write_all(answer).await;
        if path.starts_with("/endless/") {
            let repeated = &answer[answer.len().saturating_sub(ENDLESS_BYTES)..];
            while socket.write_all(repeated).await.is_ok() {}
        }
        let _ = socket.shutdown().await;
    }
}

/// Removes the percent-encoding of a path.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let mut decoded = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        decoded.push(u8::from_str_radix(code, 16).expect("two hexadecimal digits"));
        decoded.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(decoded).expect("UTF-8")
}

/// Returns an answer with a file.
pub fn file(body: &[u8]) -> Vec<u8> {
    with_headers("200 OK", &[("content-length", &body.len().to_string())], body)
}

/// Returns an answer with only a status.
pub fn status(status: &str) -> Vec<u8> {
    with_headers(status, &[("content-length", "0")], b"")
}

/// Returns an answer with these headers, and with those that object stores send.
pub fn with_headers(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\netag: \"1\"\r\nlast-modified: Tue, 01 Jul 2025 10:00:00 GMT\r\n"
    );
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}
