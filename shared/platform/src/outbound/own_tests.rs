//! Tests that no request reaches a server of the service itself, or has a header of a browser or a proxy.
#![cfg(test)]

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::tests::{Download, local, stubbed};
use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// Listens, and counts its connections.
async fn counting() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4_096];
            let _ = socket.read(&mut request).await;
            let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            let _ = socket.write_all(answer).await;
        }
    });
    (port, connections)
}

fn own(ports: &[u16]) -> OwnServers {
    OwnServers {
        ports: ports.to_vec(),
        names: vec!["dev.example".to_owned(), "[fd00::1]".to_owned()],
    }
}

#[tokio::test]
async fn own_port_is_refused_by_every_address_and_name() {
    let (port, connections) = counting().await;
    let (open, _) = counting().await;
    let outbound = local().excluding(own(&[port]));
    for host in [
        "127.0.0.1",
        "127.1",
        "127.8.9.10",
        "2130706433",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "[::]",
        "localhost",
        "LOCALHOST.",
        "app.localhost",
    ] {
        let url = format!("http://{host}:{port}/console");
        assert!(outbound.check(&url).is_err(), "{url}");
        assert!(outbound.check_now(&url).await.is_err(), "{url}");
        let sent = outbound.send(Request::get(&url, 8, MINUTE)).await;
        assert!(matches!(sent, Err(OutboundError::Refused(_))), "{url}");
        let download = Download::new().get(&outbound, &url, MINUTE).await;
        assert!(download.is_err(), "{url}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
    // Another port of this machine stays open.
    let url = format!("http://127.0.0.1:{open}/");
    Download::new().get(&outbound, &url, MINUTE).await.unwrap();
}

#[tokio::test]
async fn own_port_is_refused_at_the_connection_whatever_a_name_leads_to() {
    let (port, connections) = counting().await;
    let outbound =
        stubbed(&[&["127.0.0.1"], &["127.0.0.1"], &["::1"]], Policy::Local).excluding(own(&[port]));
    let url = format!("http://rebound.example:{port}/");
    let refusal = outbound.check_now(&url).await.unwrap_err().to_string();
    assert_eq!(
        refusal,
        format!("port {port} of this machine is the service's own, which no request reaches")
    );
    for _ in 0..2 {
        assert_eq!(
            Download::new().get(&outbound, &url, MINUTE).await.unwrap_err(),
            refusal
        );
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[test]
fn own_names_are_refused_at_every_port() {
    let outbound = local().excluding(own(&[]));
    for url in [
        "https://dev.example/",
        "https://DEV.example.:8443/",
        "http://[fd00::1]:3000/",
    ] {
        assert!(
            outbound.check(url).unwrap_err().to_string().contains("own name"),
            "{url}"
        );
    }
    outbound.check("https://other.dev.example/").unwrap();
}

#[tokio::test]
async fn header_of_a_browser_or_proxy_is_refused_in_every_request() {
    let (port, connections) = counting().await;
    let url = format!("http://127.0.0.1:{port}/");
    let outbound = local();
    for name in [
        "origin",
        "cookie",
        "sec-fetch-site",
        "x_forwarded_for",
        "proxy-authorization",
        "host",
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static("http://127.0.0.1"),
        );
        let request = Request {
            headers,
            ..Request::get(&url, 8, MINUTE)
        };
        let refusal = outbound.send(request).await.unwrap_err().to_string();
        assert!(refusal.contains(&format!("the header '{name}'")), "{refusal}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}
