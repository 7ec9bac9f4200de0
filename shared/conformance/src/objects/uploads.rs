//! Tests upload links. No part of [`objects_suite!`](crate::objects_suite), because a store of files has
//! links only where a runner serves them.

use std::sync::Arc;
use std::time::Duration;

use platform::objects::{ObjectStore, UPLOAD_TYPE, UploadLink};
use reqwest::Client;

use super::bucket;

const LIFETIME: Duration = Duration::from_secs(900);

/// Sends a request of a link with this body, and returns the status.
async fn sent(link: &UploadLink, url: &str, content_type: &str, body: Vec<u8>) -> u16 {
    let client = Client::builder().no_proxy().build().unwrap();
    let mut request = client.put(url).body(body);
    for (name, value) in &link.headers {
        let value = if name == "content-type" {
            content_type
        } else {
            value
        };
        request = request.header(name, value);
    }
    request.send().await.unwrap().status().as_u16()
}

/// An upload link writes its object and no other, at exactly its size, without credentials.
pub async fn uploads(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "uploads");
    for key in ["a/b.csv", "a/ü +%&?#'()!*=~.csv", "a/.hidden", "a/b.csv/c"] {
        let link = objects.upload_link(key, LIFETIME, 5).await.unwrap();
        assert_eq!(link.headers["content-type"], UPLOAD_TYPE);
        assert_eq!(link.headers.len(), 1, "{:?}", link.headers);
        assert!(!objects.exists(key).await.unwrap(), "{key}");
        for (body, content_type) in [
            ("12345\n", UPLOAD_TYPE),
            ("1234", UPLOAD_TYPE),
            ("", UPLOAD_TYPE),
            ("12345", "text/html"),
        ] {
            let status = sent(&link, &link.url, content_type, body.into()).await;
            assert_eq!(status, 403, "{key} {body:?} {content_type}");
            assert!(!objects.exists(key).await.unwrap(), "{key} {body:?}");
        }
        for body in ["12345", "54321"] {
            let status = sent(&link, &link.url, UPLOAD_TYPE, body.into()).await;
            assert_eq!(status, 200, "{key}");
            assert_eq!(
                objects.find(key).await.unwrap().unwrap(),
                body.as_bytes(),
                "{key}"
            );
        }
    }
    let link = objects.upload_link("one", LIFETIME, 5).await.unwrap();
    let other = link.url.replace("/one?", "/two?");
    assert_ne!(other, link.url);
    assert_eq!(sent(&link, &other, UPLOAD_TYPE, b"12345".to_vec()).await, 403);
    assert!(!objects.exists("two").await.unwrap());
    // Neither link does what the other one does.
    let read = objects.link("one", LIFETIME, "one.csv").await.unwrap();
    assert_eq!(sent(&link, &read, UPLOAD_TYPE, b"12345".to_vec()).await, 403);
    let large: Vec<u8> = (0..3_000_001_u32).map(|number| (number % 251) as u8).collect();
    let size = large.len() as u64;
    let link = objects.upload_link("large", LIFETIME, size).await.unwrap();
    assert_eq!(sent(&link, &link.url, UPLOAD_TYPE, large.clone()).await, 200);
    assert!(objects.find("large").await.unwrap().unwrap() == large);
}
