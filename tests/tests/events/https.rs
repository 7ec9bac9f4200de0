//! Tests webhooks over https: they are sent only to servers that the machine trusts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::serve::Listener;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::json;
use tests::Events;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

/// Accepts connections whose handshake succeeds.
struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            if let Ok((socket, address)) = self.listener.accept().await
                && let Ok(stream) = self.acceptor.accept(socket).await
            {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Returns a certificate authority.
fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Starts a server with a certificate for a name. Returns its port, and its count of requests.
async fn server(authority: &CertifiedIssuer<'_, KeyPair>, name: &str) -> (u16, Arc<AtomicUsize>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let listener = TlsListener {
        listener,
        acceptor: Arc::new(config).into(),
    };
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let router = Router::new().fallback(move || async move {
        counter.fetch_add(1, Ordering::SeqCst);
        "over TLS"
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (port, requests)
}

#[tokio::test]
async fn only_a_receiver_that_the_machine_trusts_is_sent_anything_locally() {
    let (trusted, stranger) = (authority("trusted"), authority("stranger"));
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("authorities.pem");
    std::fs::write(&bundle, trusted.pem()).unwrap();
    let events = Events::start_local_with(&[("SSL_CERT_FILE", bundle.to_str().unwrap())]).await;
    let channel = events.plain_channel().await;
    for (what, authority, name, refusal) in [
        ("trusted", &trusted, "localhost", None),
        ("of-a-stranger", &stranger, "localhost", Some("UnknownIssuer")),
        (
            "of-another-name",
            &trusted,
            "elsewhere.example",
            Some("certificate not valid for name \"localhost\""),
        ),
    ] {
        let (port, requests) = server(authority, name).await;
        events
            .subscribe(&json!({
                "name": what, "run_as_role": "reader", "filter": { "action": [what] },
                "target": { "type": "webhook", "url": format!("https://localhost:{port}/hook") },
            }))
            .await;
        let event = events.event(&channel, &json!({ "action": what })).await;
        let delivery = events.delivery_of(&event, &["succeeded", "retrying"]).await;
        let attempt = &delivery["attempts"][0];
        let outcome = (
            delivery["status"].as_str().unwrap(),
            attempt["response_body"].as_str(),
            requests.load(Ordering::SeqCst),
        );
        match refusal {
            None => assert_eq!(outcome, ("succeeded", Some("over TLS"), 1), "{delivery}"),
            Some(why) => {
                assert_eq!(outcome, ("retrying", None, 0), "{what}: {delivery}");
                let error = attempt["error"].as_str().unwrap();
                let begins = "Nothing was delivered to the URL: its certificate is not accepted: ";
                assert!(error.starts_with(begins) && error.contains(why), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn only_a_collector_that_the_machine_trusts_is_sent_anything_locally() {
    let (trusted, stranger) = (authority("trusted"), authority("stranger"));
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("authorities.pem");
    std::fs::write(&bundle, trusted.pem()).unwrap();
    for (authority, is_trusted) in [(&trusted, true), (&stranger, false)] {
        let (port, requests) = server(authority, "localhost").await;
        let endpoint = format!("https://localhost:{port}/base");
        let variables = [
            ("SSL_CERT_FILE", bundle.to_str().unwrap()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ];
        let events = Events::start_local_with(&variables).await;
        events.plain_channel().await;
        let deadline = Instant::now() + Duration::from_secs(60);
        while requests.load(Ordering::SeqCst) == 0 && !events.log().contains("certificate is not accepted") {
            assert!(Instant::now() < deadline, "{}", events.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(
            requests.load(Ordering::SeqCst) > 0,
            is_trusted,
            "{}",
            events.log()
        );
    }
}
