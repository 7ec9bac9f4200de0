//! Tests webhooks over https: they are sent only to servers that the machine trusts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use rcgen::{CertifiedIssuer, KeyPair};
use serde_json::json;
use tests::{Events, tls};

/// Starts a server with a certificate for a name. Returns its port, and its count of requests.
async fn server(authority: &CertifiedIssuer<'_, KeyPair>, name: &str) -> (u16, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    let router = Router::new().fallback(move || async move {
        counter.fetch_add(1, Ordering::SeqCst);
        "over TLS"
    });
    (tls::serve(authority, name, router).await, requests)
}

#[tokio::test]
async fn only_a_receiver_that_the_machine_trusts_is_sent_anything_locally() {
    let (trusted, stranger) = (tls::authority("trusted"), tls::authority("stranger"));
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
    let (trusted, stranger) = (tls::authority("trusted"), tls::authority("stranger"));
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
