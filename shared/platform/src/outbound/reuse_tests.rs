//! Tests whether connections are reused.
#![cfg(test)]

use std::net::Ipv4Addr;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::tests::{Download, local};
use super::*;

/// Starts a server that keeps connections open, and counts them and their requests.
async fn keeping_server() -> (u16, Arc<Mutex<(u32, u32)>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let counts = Arc::new(Mutex::new((0, 0)));
    let counted = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counted.lock().unwrap().0 += 1;
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                while socket.read(&mut request).await.is_ok_and(|read| read > 0) {
                    counted.lock().unwrap().1 += 1;
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    socket.write_all(answer).await.unwrap();
                }
            });
        }
    });
    (port, counts)
}

#[tokio::test]
async fn a_function_that_is_frozen_uses_no_connection_twice() {
    let files = Download::new();
    for (reuse, connections) in [(Reuse::Kept, 1), (Reuse::Never, 3)] {
        let (port, counts) = keeping_server().await;
        let outbound = Outbound { reuse, ..local() };
        for _ in 0..3 {
            let url = format!("http://127.0.0.1:{port}/");
            let got = files.get(&outbound, &url, Duration::from_secs(10)).await;
            assert_eq!(got.unwrap(), b"ok");
        }
        assert_eq!(*counts.lock().unwrap(), (connections, 3), "{reuse:?}");
    }
    let function = AwsEnvironment {
        function_name: Some("worker".to_owned()),
        ..AwsEnvironment::default()
    };
    let environment = Environment::from_variables([]).unwrap();
    let deployed = Outbound::from_environment(&environment, &function).unwrap();
    assert_eq!(deployed.reuse, Reuse::Never);
}
